//! The output. Every line is written here, with the key redacted.

use std::io::Write as _;

use trunkline_types::Secret;

/// The standard output, with eyes on a secret.
pub(crate) struct Report {
    hidden: Option<Secret>,
}

/// A shorter secret would redact ordinary words.
const SHORTEST_SECRET: usize = 4;

impl Report {
    pub(crate) const fn new() -> Self {
        Self { hidden: None }
    }

    /// From now on this text is not printed.
    pub(crate) fn hide(&mut self, secret: Secret) {
        self.hidden = Some(secret);
    }

    pub(crate) fn say(&self, line: &str) {
        let line = self.cleaned(line);
        // When this fails there is no reader left.
        writeln!(std::io::stdout().lock(), "{line}").unwrap_or_default();
    }

    fn cleaned(&self, line: &str) -> String {
        match &self.hidden {
            Some(secret) if secret.reveal().len() >= SHORTEST_SECRET => {
                line.replace(secret.reveal(), "[hidden]")
            }
            Some(_) | None => line.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_in_no_line() {
        let mut report = Report::new();
        report.hide(Secret::new("sk-abc".to_owned()));
        assert_eq!(
            report.cleaned("the key sk-abc is bad"),
            "the key [hidden] is bad"
        );
    }
}
