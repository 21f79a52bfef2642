//! How far a reader is: the newest number it knows of its account's events, and of the system account's.

use std::fmt;

/// Two numbers, written `a12-s5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cursor {
    pub(crate) account: i64,
    pub(crate) system: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Account,
    System,
}

// === impl Cursor ===

impl Cursor {
    /// Reads one. Exactly one spelling of each.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (account, system) = text.strip_prefix('a')?.split_once("-s")?;
        let number = |text: &str| text.parse::<i64>().ok().filter(|number| *number >= 0);
        let cursor = Self {
            account: number(account)?,
            system: number(system)?,
        };
        (cursor.to_string() == text).then_some(cursor)
    }

    pub(crate) fn of(&self, side: Side) -> i64 {
        match side {
            Side::Account => self.account,
            Side::System => self.system,
        }
    }

    pub(crate) fn set(&mut self, side: Side, number: i64) {
        match side {
            Side::Account => self.account = number,
            Side::System => self.system = number,
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a{}-s{}", self.account, self.system)
    }
}

impl Side {
    /// Its name in a gap.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::System => "system",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_in_no_other_way() {
        let cursor = Cursor {
            account: 12,
            system: 0,
        };
        assert_eq!(Cursor::parse("a12-s0"), Some(cursor));
        assert_eq!(cursor.to_string(), "a12-s0");
        for wrong in [
            "",
            "a12",
            "12-0",
            "a-s",
            "a1-s-1",
            "a+1-s0",
            "a01-s0",
            "a1-s0 ",
            "s1-a2",
            "a9223372036854775808-s0",
        ] {
            assert_eq!(Cursor::parse(wrong), None, "{wrong:?}");
        }
    }
}
