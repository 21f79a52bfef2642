//! Deliberate defects, for `just gate-selftest`: each is a bug that a test of the gate must notice.
//!
//! Only a build for tests has them: the feature `defects`, which crate `testkit` alone turns on, and
//! debug assertions, which no release build has. Every other build has a constant `false` in place of
//! the question, so that the compiler leaves out the defect itself. `docs/dev/defects.md` has the list.

use crate::closed_enum::closed_enum;

/// One bug that is there on demand, at one place of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// A settlement is answered as done and not written.
    DroppedSettlement,
    /// A refund adds twice its amount to the balance.
    DoubledRefund,
    /// A response does not name the fields that had no effect.
    LostWarning,
    /// A task is shown under its upstream's id.
    LeakedForeignId,
    /// A call is priced by the tier behind the right one.
    WrongPriceTier,
    /// A revoked key is accepted.
    StaleKeyAccepted,
    /// A stream of chat completions ends with another line than `[DONE]`.
    WrongStreamTerminator,
    /// An upstream's 429 is treated as a failure.
    Swallowed429,
    /// A video that is not done at the first poll is not polled again.
    FrozenPoll,
    /// A call runs again although its `Idempotency-Key` is known.
    MissingReplay,
    /// The header with the cost of a call says zero.
    WrongHeader,
    /// Events are not written.
    LostEvent,
    /// The limits of a key are not checked.
    SkippedLimit,
    /// One endpoint of social data has no page behind the first.
    LostCursor,
    /// Queries of a customer ask for the account that a header names.
    ForeignFilter,
}

// === impl Defect ===

impl Defect {
    pub const ALL: [Self; 15] = [
        Self::DroppedSettlement,
        Self::DoubledRefund,
        Self::LostWarning,
        Self::LeakedForeignId,
        Self::WrongPriceTier,
        Self::StaleKeyAccepted,
        Self::WrongStreamTerminator,
        Self::Swallowed429,
        Self::FrozenPoll,
        Self::MissingReplay,
        Self::WrongHeader,
        Self::LostEvent,
        Self::SkippedLimit,
        Self::LostCursor,
        Self::ForeignFilter,
    ];

    /// The name that selects it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DroppedSettlement => "dropped-settlement",
            Self::DoubledRefund => "doubled-refund",
            Self::LostWarning => "lost-warning",
            Self::LeakedForeignId => "leaked-foreign-id",
            Self::WrongPriceTier => "wrong-price-tier",
            Self::StaleKeyAccepted => "stale-key-accepted",
            Self::WrongStreamTerminator => "wrong-stream-terminator",
            Self::Swallowed429 => "swallowed-429",
            Self::FrozenPoll => "frozen-poll",
            Self::MissingReplay => "missing-replay",
            Self::WrongHeader => "wrong-header",
            Self::LostEvent => "lost-event",
            Self::SkippedLimit => "skipped-limit",
            Self::LostCursor => "lost-cursor",
            Self::ForeignFilter => "foreign-filter",
        }
    }
}

closed_enum!(Defect, "defect");

/// Every build that is not for tests.
#[cfg(not(all(feature = "defects", debug_assertions)))]
mod chosen {
    use super::Defect;

    impl Defect {
        /// Whether this process has the defect.
        #[must_use]
        pub const fn is_on(self) -> bool {
            false
        }
    }

    /// The text that replaces a compiled-in file of the repository.
    #[must_use]
    pub const fn file_instead(_path: &str) -> Option<String> {
        None
    }

    /// The word that is replaced on the wire, and what stands instead.
    #[must_use]
    pub const fn misspelt_word() -> Option<(&'static str, &'static str)> {
        None
    }

    /// A body with the misspelt word, if it has the word.
    #[must_use]
    pub const fn word_instead(_body: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(all(feature = "defects", debug_assertions))]
mod chosen {
    use std::path::PathBuf;
    use std::sync::OnceLock;

    use super::Defect;

    /// The name of one defect.
    const NAMED_BY: &str = "TRUNKLINE_DEFECT";
    /// A folder with broken files under their paths in the repository.
    const FILES_IN: &str = "TRUNKLINE_DEFECT_FILES";
    /// A word of bodies and headers, a line end, and what stands instead.
    const WORD: &str = "TRUNKLINE_DEFECT_WORD";

    static DEFECT: OnceLock<Option<Defect>> = OnceLock::new();
    static FILES: OnceLock<Option<PathBuf>> = OnceLock::new();
    static WORDS: OnceLock<Option<(String, String)>> = OnceLock::new();

    impl Defect {
        /// Whether this process has the defect.
        #[must_use]
        pub fn is_on(self) -> bool {
            *DEFECT.get_or_init(named) == Some(self)
        }
    }

    /// The text that replaces a compiled-in file of the repository.
    #[must_use]
    pub fn file_instead(path: &str) -> Option<String> {
        let folder = FILES.get_or_init(|| text(FILES_IN).map(PathBuf::from));
        #[expect(
            clippy::disallowed_methods,
            reason = "the selftest wrote the file, and no shipped build has this code"
        )]
        std::fs::read_to_string(folder.as_ref()?.join(path)).ok()
    }

    /// The word that is replaced on the wire, and what stands instead.
    #[must_use]
    pub fn misspelt_word() -> Option<(&'static str, &'static str)> {
        let words = WORDS.get_or_init(|| {
            let words = text(WORD)?;
            let (word, other) = words.split_once('\n')?;
            Some((word.to_owned(), other.to_owned()))
        });
        let (word, other) = words.as_ref()?;
        Some((word, other))
    }

    /// A body with the misspelt word, if it has the word.
    #[must_use]
    pub fn word_instead(body: &[u8]) -> Option<Vec<u8>> {
        let (word, other) = misspelt_word()?;
        let body = std::str::from_utf8(body).ok()?;
        body.contains(word)
            .then(|| body.replace(word, other).into_bytes())
    }

    #[expect(
        clippy::panic,
        reason = "a misspelt name must not pass for a defect, and no shipped build has this code"
    )]
    fn named() -> Option<Defect> {
        let name = text(NAMED_BY)?;
        match name.parse() {
            Ok(defect) => Some(defect),
            Err(error) => panic!("{NAMED_BY} names no defect: {error}"),
        }
    }

    fn text(variable: &str) -> Option<String> {
        #[expect(
            clippy::disallowed_methods,
            reason = "tests start in processes of their own, and no shipped build has this code"
        )]
        let value = std::env::var_os(variable)?;
        let value = value.to_string_lossy().into_owned();
        (!value.is_empty()).then_some(value)
    }
}

pub use chosen::{file_instead, misspelt_word, word_instead};

#[cfg(test)]
mod tests {
    use super::*;

    /// The selftest and its page list every defect, so that none is forgotten and none misspelt.
    #[test]
    fn the_selftest_and_its_page_name_every_defect() {
        let selftest = include_str!("../../../scripts/gate-selftest");
        let page = include_str!("../../../docs/dev/defects.md");
        for defect in Defect::ALL {
            let tried = selftest
                .lines()
                .filter(|line| line.starts_with(&format!("try {defect} ")));
            assert_eq!(tried.count(), 1, "{defect} in scripts/gate-selftest");
            assert!(
                page.contains(&format!("| `{defect}` |")),
                "{defect} in docs/dev/defects.md"
            );
            assert_eq!(defect.name().parse(), Ok(defect));
        }
        let tried = selftest.lines().filter(|line| line.starts_with("try "));
        assert_eq!(tried.count(), Defect::ALL.len());
    }
}
