//! How a prompt asks for what can go wrong with pictures: `[[image:dead_link]]`, or
//! any fault of the others as `[[fault:status:503]]`.

use crate::directives::{DirectiveError, bracketed};
use crate::fault::{Fault, ImageFault};

/// What one prompt asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ImageDirectives {
    /// `[[id:NAME]]`: the name under which a checker finds the call.
    pub(super) marker: Option<String>,
    pub(super) fault: Option<Fault>,
    /// `[[image:count:3]]`: so many pictures, where the model itself decides.
    pub(super) count: Option<u32>,
}

/// The longest name of a call.
const MAX_NAME_BYTES: usize = 200;

// === impl ImageDirectives ===

impl ImageDirectives {
    /// Reads a prompt. Other brackets are left alone; a misspelled directive is refused, or a
    /// test that asks for it would pass.
    pub(super) fn read(prompt: &str) -> Result<Self, DirectiveError> {
        let mut directives = Self::default();
        for inside in bracketed(prompt) {
            directives.take(inside)?;
        }
        Ok(directives)
    }

    fn take(&mut self, inside: &str) -> Result<(), DirectiveError> {
        let wrong = |what: &str| DirectiveError(format!("[[{inside}]]: {what}"));
        match inside.split_once(':') {
            Some(("id", name)) => {
                let end = name.floor_char_boundary(MAX_NAME_BYTES);
                self.marker = name.get(..end).map(str::to_owned);
            }
            Some(("fault", text)) => {
                let fault =
                    Fault::from_text(text).map_err(|_| wrong("no fault, or no such one"))?;
                self.fault = Some(fault);
            }
            Some(("image", value)) => match value.split_once(':') {
                Some(("count", digits)) => {
                    let count = ImageFault::number(digits)
                        .ok_or_else(|| wrong("not a number of pictures"))?;
                    self.count = Some(count);
                }
                Some(_) | None => {
                    let fault = ImageFault::try_from(value.to_owned()).map_err(DirectiveError)?;
                    self.fault = Some(Fault::Image(fault));
                }
            },
            Some(_) | None => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_stand_anywhere_in_a_prompt_and_unknown_ones_are_ignored() {
        let directives =
            ImageDirectives::read("a [[id:x-1]] fox [[image:count:3]] [[b]] [[image:refused]]");
        let expected = ImageDirectives {
            marker: Some("x-1".to_owned()),
            fault: Some(Fault::Image(ImageFault::Refused)),
            count: Some(3),
        };
        assert_eq!(directives, Ok(expected));
        let other = ImageDirectives::read("[[fault:status:503]]").unwrap();
        assert_eq!(other.fault, Some(Fault::Status(503)));
        for wrong in ["[[image:no]]", "[[fault:no]]", "[[image:count:0]]"] {
            assert!(ImageDirectives::read(wrong).is_err(), "{wrong}");
        }
    }
}
