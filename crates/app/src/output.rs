//! What the command line prints: text for people or one JSON object for programs, to standard
//! output; failures to standard error.

use std::io::{self, Write as _};

use serde_json::{Value, json};

/// Where a command's result goes.
pub(crate) struct Output {
    json: bool,
}

// === impl Output ===

impl Output {
    pub(crate) const fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether a program reads the output, so that no question can be asked.
    pub(crate) const fn is_for_programs(&self) -> bool {
        self.json
    }

    /// Prints the result of a command that did what it was asked. A closed pipe is not an error of
    /// ours.
    pub(crate) fn success(&self, text: &str, object: &Value) {
        self.print(text, object);
    }

    /// Prints what a command found that should not be.
    pub(crate) fn finding(&self, text: &str, object: &Value) {
        self.print(text, object);
    }

    fn print(&self, text: &str, object: &Value) {
        let printed = if self.json {
            object.to_string()
        } else {
            text.to_owned()
        };
        // A reader that went away has seen what it wanted.
        drop(writeln!(io::stdout().lock(), "{printed}"));
    }

    /// Prints why a command failed.
    pub(crate) fn failure(&self, error: &anyhow::Error) {
        if self.json {
            let findings = error
                .downcast_ref::<crate::config::ConfigError>()
                .map(|config| json!(config.0));
            let object =
                json!({ "ok": false, "error": format!("{error:#}"), "findings": findings });
            drop(writeln!(io::stdout().lock(), "{object}"));
        } else {
            drop(writeln!(io::stderr().lock(), "trunkline: {error:#}"));
        }
    }
}
