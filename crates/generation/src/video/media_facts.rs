//! What is known of media that a request names: measured before admission where that can be done.

use std::collections::BTreeMap;

/// What a piece of media is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MediaKind {
    Image,
    Video,
    Audio,
}

/// Media whose measures move the price or decide whether it can be taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProbeTarget {
    pub kind: MediaKind,
    pub url: String,
    /// The field that names it.
    pub param: String,
}

impl ProbeTarget {
    /// A clip that a field names.
    pub(crate) fn video(url: &str, param: &str) -> Self {
        Self {
            kind: MediaKind::Video,
            url: url.to_owned(),
            param: param.to_owned(),
        }
    }
}

/// How a clip is wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// MP4.
    Mp4,
    /// `QuickTime`.
    Mov,
    /// Something else that was recognised as none of these.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MediaFacts {
    /// Length in thousandths of a second.
    pub millis: Option<u64>,
    /// Width in pixels.
    pub width: Option<u64>,
    /// Height in pixels.
    pub height: Option<u64>,
    pub container: Option<Container>,
}

/// What was measured, by address. What is not in here could not be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownMedia(BTreeMap<String, MediaFacts>);

// === impl MediaFacts ===

impl MediaFacts {
    /// Length in whole seconds, rounded up.
    #[must_use]
    pub fn seconds(&self) -> Option<u64> {
        self.millis.map(|millis| millis.div_ceil(1_000))
    }
}

// === impl KnownMedia ===

impl KnownMedia {
    #[must_use]
    pub fn with(mut self, url: impl Into<String>, facts: MediaFacts) -> Self {
        self.0.insert(url.into(), facts);
        self
    }

    /// What is known of an address.
    #[must_use]
    pub fn of(&self, url: &str) -> Option<MediaFacts> {
        self.0.get(url).copied()
    }
}
