//! A day whose lines are being read.

use crate::{DayRecord, Finding, TreeHasher};

pub(super) struct OpenDay {
    pub(super) record: DayRecord,
    pub(super) tree: TreeHasher,
    /// The number of the next line.
    expected: u64,
    /// The number behind the last line.
    end: u64,
    has_findings: bool,
}

// === impl OpenDay ===

impl OpenDay {
    pub(super) fn new(record: DayRecord) -> Self {
        Self {
            tree: TreeHasher::new(),
            expected: record.first,
            end: record.first.saturating_add(record.lines),
            has_findings: false,
            record,
        }
    }

    /// A line whose text has its hash.
    pub(super) fn place(&mut self, n: u64) -> Option<Finding> {
        let finding = if n >= self.end {
            Finding::AddedLine { n }
        } else if n < self.expected {
            Finding::MisplacedLine { n }
        } else if n > self.expected {
            let first = self.expected;
            self.expected = n.saturating_add(1);
            Finding::MissingLines {
                first,
                last: n.saturating_sub(1),
            }
        } else {
            self.expected = n.saturating_add(1);
            return None;
        };
        self.has_findings = true;
        Some(finding)
    }

    /// A line whose text has another hash. Its number may be what was changed, so it counts as the one whose turn
    /// it is.
    pub(super) fn place_changed(&mut self) -> Option<Finding> {
        self.has_findings = true;
        let n = self.expected;
        if n >= self.end {
            return Some(Finding::AddedLine { n });
        }
        self.expected = n.saturating_add(1);
        Some(Finding::ChangedLine { n })
    }

    pub(super) fn close(self) -> Option<Finding> {
        if self.expected < self.end {
            return Some(Finding::MissingLines {
                first: self.expected,
                last: self.end.saturating_sub(1),
            });
        }
        let is_signed = self.tree.root() == Some(self.record.root);
        (!self.has_findings && !is_signed).then_some(Finding::ChangedDay {
            day: self.record.day,
        })
    }
}
