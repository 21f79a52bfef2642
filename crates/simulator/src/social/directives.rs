//! How a request asks for what can go wrong with social data: `[[social:empty]]` in
//! any of its texts.

use crate::directives::{DirectiveError, bracketed};
use crate::fault::SocialFault;

/// What the texts of one request ask for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SocialDirectives {
    /// `[[id:NAME]]`: the name under which a checker finds the request.
    pub(super) marker: Option<String>,
    pub(super) fault: Option<SocialFault>,
    /// Beside another directive, so that a failure can be slow too.
    pub(super) slow_millis: u32,
}

/// The longest name of a request.
const MAX_NAME_BYTES: usize = 200;

// === impl SocialDirectives ===

impl SocialDirectives {
    /// Reads the texts of a request. Other brackets are left alone; a misspelled directive is
    /// refused, or a test that asks for it would pass.
    pub(super) fn read<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Self, DirectiveError> {
        let mut directives = Self::default();
        for inside in texts.flat_map(bracketed) {
            directives.take(inside)?;
        }
        Ok(directives)
    }

    fn take(&mut self, inside: &str) -> Result<(), DirectiveError> {
        match inside.split_once(':') {
            Some(("id", name)) => {
                let end = name.floor_char_boundary(MAX_NAME_BYTES);
                self.marker = name.get(..end).map(str::to_owned);
            }
            Some(("social", value)) => {
                let fault = SocialFault::try_from(value.to_owned()).map_err(DirectiveError)?;
                if let SocialFault::Slow { millis } = fault {
                    self.slow_millis = millis;
                } else {
                    self.fault = Some(fault);
                }
            }
            Some(_) | None => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_stand_in_any_text_and_unknown_ones_are_ignored() {
        let texts = [
            "a [[id:x-1]] cat [[other]]",
            "[[social:slow:30]] [[social:500]]",
        ];
        let directives = SocialDirectives::read(texts.into_iter()).unwrap();
        assert_eq!(directives.marker.as_deref(), Some("x-1"));
        assert_eq!(directives.fault, Some(SocialFault::Status(500)));
        assert_eq!(directives.slow_millis, 30);
        let none = SocialDirectives::read(["no [[ end", "[[link:a]]"].into_iter()).unwrap();
        assert_eq!(none, SocialDirectives::default());
        assert!(SocialDirectives::read(["[[social:nonsense]]"].into_iter()).is_err());
    }
}
