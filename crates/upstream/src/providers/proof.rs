//! How the behaviour that a provider's file describes was proved.

/// From the strongest to the weakest. A file with several formats has the weakest of those that are sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// Calls to the vendor itself.
    Live,
    /// The vendor's own SDK against the simulator, in CI.
    Sdk,
    /// The vendor's documents and public client code only.
    Documented,
}

// === impl Proof ===

impl Proof {
    pub const ALL: [Self; 3] = [Self::Live, Self::Sdk, Self::Documented];

    /// Its name in provider files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Sdk => "sdk",
            Self::Documented => "documented",
        }
    }
}
