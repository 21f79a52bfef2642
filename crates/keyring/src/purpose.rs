//! What a key is for. One purpose never opens what another sealed.
//!
//! The words here are part of every derived key: changing one makes its old tokens unreadable.

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    Credentials,
    /// Ids handed to clients in place of an upstream's.
    SealedIds,
    /// Quotes that a client brings back.
    Quotes,
    MediaLinks,
    Cookies,
    /// Answers kept for an idempotency key.
    IdempotentAnswers,
    /// Prompts and links of tasks.
    Tasks,
    /// Secrets and addresses of webhooks.
    Webhooks,
    /// Links in emails that were not sent yet.
    Emails,
}

// === impl Purpose ===

impl Purpose {
    /// Every purpose.
    pub const ALL: [Self; 9] = [
        Self::Credentials,
        Self::SealedIds,
        Self::Quotes,
        Self::MediaLinks,
        Self::Cookies,
        Self::IdempotentAnswers,
        Self::Tasks,
        Self::Webhooks,
        Self::Emails,
    ];

    /// Its place in [`Self::ALL`].
    pub(crate) fn place(self) -> usize {
        let place = Self::ALL.iter().position(|purpose| *purpose == self);
        place.unwrap_or_default()
    }

    /// The word that stands in derivations and seals. It never changes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Credentials => "credentials",
            Self::SealedIds => "sealed-ids",
            Self::Quotes => "quotes",
            Self::MediaLinks => "media-links",
            Self::Cookies => "cookies",
            Self::IdempotentAnswers => "idempotent-answers",
            Self::Tasks => "tasks",
            Self::Webhooks => "webhooks",
            Self::Emails => "letters",
        }
    }
}
