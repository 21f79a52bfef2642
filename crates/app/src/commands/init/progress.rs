//! What is said while an installation is set up: a line for each step as it is done, or one object at
//! the end for programs.

use std::io::{self, Write as _};

use serde_json::{Value, json};

use crate::output::Output;

pub(super) struct Progress<'a> {
    output: &'a Output,
    steps: Vec<Value>,
    has_changed: bool,
}

/// What is left to say when all is done.
pub(super) struct Summary {
    pub(super) base_url: String,
    pub(super) dash_url: String,
    /// Shown once, by the run that has created it.
    pub(super) key: Option<String>,
    /// The first call, ready to be pasted.
    pub(super) curl: Option<String>,
    pub(super) operator_link: Option<String>,
    /// What the operator does next.
    pub(super) next: Vec<String>,
}

// === impl Progress ===

impl<'a> Progress<'a> {
    pub(super) fn new(output: &'a Output) -> Self {
        Self {
            output,
            steps: Vec::new(),
            has_changed: false,
        }
    }

    pub(super) fn done(&mut self, step: &str, text: &str) {
        self.has_changed = true;
        self.step(step, true, text);
    }

    /// Something is there already and stays as it is.
    pub(super) fn there(&mut self, step: &str, text: &str) {
        self.step(step, false, text);
    }

    fn step(&mut self, step: &str, is_new: bool, text: &str) {
        if !self.output.is_for_programs() {
            let mark = if is_new { "+" } else { "=" };
            // A reader that went away has seen what it wanted.
            drop(writeln!(
                io::stdout().lock(),
                "{mark} {step:<14} {}",
                text.replace('\n', "\n                 ")
            ));
        }
        self.steps
            .push(json!({ "step": step, "done_now": is_new, "text": text }));
    }

    pub(super) fn end(self, summary: &Summary) {
        let mut lines = vec![String::new()];
        lines.push(if self.has_changed {
            "Trunkline is set up.".to_owned()
        } else {
            "Everything was there already; nothing was changed.".to_owned()
        });
        let mut row = |name: &str, value: &str| lines.push(format!("  {name:<10} {value}"));
        row("API", &format!("{}/v1", summary.base_url));
        row("console", &summary.dash_url);
        if let Some(key) = &summary.key {
            row("API key", &format!("{key}   (shown this once)"));
        }
        if let Some(link) = &summary.operator_link {
            row("set up", &format!("{link}   (within 24 hours, once)"));
        }
        if let Some(curl) = &summary.curl {
            lines.push(format!("\nThe first call:\n\n{curl}"));
        }
        if !summary.next.is_empty() {
            lines.push("\nNext:".to_owned());
            lines.extend(summary.next.iter().map(|line| format!("  - {line}")));
        }
        let object = json!({
            "ok": true,
            "changed": self.has_changed,
            "steps": self.steps,
            "base_url": summary.base_url,
            "dash_url": summary.dash_url,
            "key": summary.key,
            "curl": summary.curl,
            "operator_link": summary.operator_link,
            "next": summary.next,
        });
        self.output.success(&lines.join("\n"), &object);
    }
}
