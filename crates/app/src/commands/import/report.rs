//! What an import did, or would do.

use serde_json::{Value, json};
use trunkline_types::Money;

use super::plan::Remark;
use crate::table;

/// How many of a kind were added, and how many were there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) added: usize,
    pub(super) there: usize,
}

#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) is_applied: bool,
    pub(super) groups: Count,
    pub(super) models: Count,
    pub(super) channels: Count,
    pub(super) users: Count,
    pub(super) keys: usize,
    /// What was booked.
    pub(super) balance: Money,
    pub(super) skipped: Vec<Remark>,
    pub(super) differences: Vec<Remark>,
    pub(super) ignored: Vec<String>,
}

// === impl Count ===

impl Count {
    pub(super) fn add(&mut self) {
        self.added = self.added.saturating_add(1);
    }

    pub(super) fn find(&mut self) {
        self.there = self.there.saturating_add(1);
    }

    fn object(self) -> Value {
        json!({ "added": self.added, "there": self.there })
    }
}

// === impl Report ===

impl Report {
    fn skipped_of(&self, kind: &str) -> usize {
        self.skipped.iter().filter(|one| one.kind == kind).count()
    }

    pub(super) fn text(&self) -> String {
        let row = |name: &str, kind: &str, count: Count| {
            let numbers = [count.added, count.there, self.skipped_of(kind)];
            let numbers = numbers.iter().map(ToString::to_string);
            std::iter::once(name.to_owned()).chain(numbers).collect()
        };
        let keys = Count {
            added: self.keys,
            there: 0,
        };
        let rows: Vec<Vec<String>> = vec![
            row("groups", "group", self.groups),
            row("models", "model", self.models),
            row("channels", "channel", self.channels),
            row("users", "user", self.users),
            row("keys", "key", keys),
        ];
        let heads = ["", "imported", "there before", "skipped"];
        let mut lines = vec![table::aligned(&heads, &[1, 2, 3], &rows)];
        lines.push(format!("Balances booked: {} USD.", self.balance));
        lines.extend(section("Differences:", &self.differences));
        lines.extend(section("Skipped:", &self.skipped));
        if !self.ignored.is_empty() {
            lines.push(format!("Not read: {}.", self.ignored.join("; ")));
        }
        lines.push(if self.is_applied {
            "Imported. `trunkline channel test --all` tests the channels.".to_owned()
        } else {
            "This was a dry run: nothing was changed. --apply imports it.".to_owned()
        });
        let text = lines.join("\n");
        // A name from a file could otherwise move the cursor of a terminal.
        text.replace(|c: char| c.is_control() && c != '\n', "\u{fffd}")
    }

    pub(super) fn object(&self) -> Value {
        json!({
            "ok": true,
            "applied": self.is_applied,
            "groups": self.groups.object(),
            "models": self.models.object(),
            "channels": self.channels.object(),
            "users": self.users.object(),
            "keys": self.keys,
            "balance_usd": self.balance.to_string(),
            "differences": self.differences,
            "skipped": self.skipped,
            "ignored": self.ignored,
        })
    }
}

fn section(head: &str, remarks: &[Remark]) -> Vec<String> {
    if remarks.is_empty() {
        return Vec::new();
    }
    let line = |one: &Remark| {
        let name = one.name.replace(char::is_control, "\u{fffd}");
        format!("  {} {name}: {}", one.kind, one.reason)
    };
    let lines = remarks.iter().map(line);
    std::iter::once(head.to_owned()).chain(lines).collect()
}
