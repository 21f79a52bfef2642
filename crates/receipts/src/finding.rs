//! What checking finds. The texts are an interface: docs/verify/verify.py prints the same.

use std::fmt;

use crate::{Hash, PublicKey};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A line of the file, by its number from 1, is not as a file has it. Nothing behind it was checked.
    Malformed {
        file_line: u64,
    },
    /// The signature in a line of the file is wrong. Nothing behind it was checked.
    WrongSignature {
        file_line: u64,
    },
    /// The key in a line of the file is not one of the given ones. Nothing behind it was checked.
    UnknownKey {
        file_line: u64,
    },
    /// A day does not follow the one before it in the file, or is another account's.
    MissingDays {
        before: String,
    },
    /// A line's text is not what its hash was made of.
    ChangedLine {
        n: u64,
    },
    /// Lines that the day has and the file has not; both ends included.
    MissingLines {
        first: u64,
        last: u64,
    },
    /// A line that is there twice, or behind a later one.
    MisplacedLine {
        n: u64,
    },
    /// A line that the day does not have.
    AddedLine {
        n: u64,
    },
    /// The lines of a day are consistent and not those that were signed.
    ChangedDay {
        day: String,
    },
    /// A statement's end speaks of other days or lines than there are.
    WrongEnd,
    MissingEnd,
    /// A receipt's line and path do not lead to the signed root.
    ChangedReceipt,
}

/// Sums of lines, in nano-dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub days: u64,
    pub lines: u64,
    pub paid: i128,
    pub trial: i128,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub is_receipt: bool,
    pub account: Option<i64>,
    /// The days of a statement; of a receipt both are its line's.
    pub from: String,
    pub to: String,
    pub totals: Totals,
    /// The head that the first day follows.
    pub previous: Option<Hash>,
    /// The head of the last day.
    pub head: Option<Hash>,
    /// The keys that signed, in the order of their first use.
    pub keys: Vec<PublicKey>,
    pub findings: Vec<Finding>,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { file_line } => {
                write!(formatter, "malformed: line {file_line} of the file")
            }
            Self::WrongSignature { file_line } => {
                write!(formatter, "wrong signature: line {file_line} of the file")
            }
            Self::UnknownKey { file_line } => {
                write!(formatter, "unknown key: line {file_line} of the file")
            }
            Self::MissingDays { before } => write!(formatter, "missing days: before {before}"),
            Self::ChangedLine { n } => write!(formatter, "changed line: {n}"),
            Self::MissingLines { first, last } => {
                write!(formatter, "missing lines: {first} to {last}")
            }
            Self::MisplacedLine { n } => write!(formatter, "misplaced line: {n}"),
            Self::AddedLine { n } => write!(formatter, "added line: {n}"),
            Self::ChangedDay { day } => write!(formatter, "changed day: {day}"),
            Self::WrongEnd => formatter.write_str("wrong end"),
            Self::MissingEnd => formatter.write_str("missing end"),
            Self::ChangedReceipt => formatter.write_str("changed receipt"),
        }
    }
}

// === impl Report ===

impl Report {
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.findings.is_empty()
    }

    /// In one line what was found to be right.
    #[must_use]
    pub fn summary(&self) -> String {
        let Totals {
            days,
            lines,
            paid,
            trial,
        } = self.totals;
        let what = if self.is_receipt {
            "receipt"
        } else {
            "statement"
        };
        let account = self.account.unwrap_or_default();
        let (from, to) = (&self.from, &self.to);
        format!(
            "{what} of account {account}, {from} to {to}: days {days}, lines {lines}, \
             paid {paid}, trial {trial} nano-dollars"
        )
    }
}
