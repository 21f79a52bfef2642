//! The input tokens of a request: at most, and as a fair guess. What is written is bounded by its bytes,
//! what is not by the rules of the model's vendor, and all of it by the model's window.

use trunkline_catalog::{Entry, InputRules};
use trunkline_wire::{MediaKind, MediaPart, Request};

/// The size of an image behind a link, and of one that cannot be measured, as a guess.
const FAIR_SIZE: (u32, u32) = (1_024, 1_024);
/// Bytes of encoded sound and video for one token, as a guess.
const FAIR_SOUND_BYTES: u64 = 48;
/// Bytes of an encoded file for one token, as a guess.
const FAIR_FILE_BYTES: u64 = 16;
/// Tokens of what is behind a link, as a guess.
const FAIR_LINK_TOKENS: u64 = 10_000;

/// Input tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InputTokens {
    /// No legal input has more: docs/dev/bounds.md has the proof of each part.
    pub(crate) most: u64,
    /// For when the upstream reports none, and for rate limits.
    pub(crate) fair: u64,
}

impl InputTokens {
    pub(crate) fn of(request: &Request, entry: &Entry) -> Self {
        let rules = entry.input_rules(request.model());
        let parts = request.facts.media.parts.iter();
        let (mut most, mut fair) = (request.text_most, request.text_fair);
        for part in parts {
            let tokens = most_tokens(part, &rules);
            most = most.saturating_add(tokens);
            fair = fair.saturating_add(fair_tokens(part, &rules).min(tokens));
        }
        if request.has_tools {
            most = most.saturating_add(rules.tools(request.facts.vendor_tools));
        }
        // Of a list of texts to embed or to order, each has a window of its own.
        if request.passthrough.is_none() {
            most = rules.within_window(most);
        }
        Self {
            most,
            fair: fair.min(most),
        }
    }
}

fn most_tokens(part: &MediaPart, rules: &InputRules) -> u64 {
    match part.kind {
        MediaKind::Image(size) => rules.image(size.map(|size| (size.width, size.height))),
        MediaKind::Audio { length_ms } => rules.audio(length_ms),
        MediaKind::Video {
            length_ms,
            frames_per_second,
        } => rules.video(length_ms, frames_per_second),
        MediaKind::Document => rules.document(),
    }
}

fn fair_tokens(part: &MediaPart, rules: &InputRules) -> u64 {
    let by_bytes = |per_token: u64| match part.bytes {
        0 => FAIR_LINK_TOKENS,
        bytes => bytes.div_ceil(per_token),
    };
    match part.kind {
        MediaKind::Image(size) => {
            let size = size.map_or(FAIR_SIZE, |size| (size.width, size.height));
            rules.image(Some(size))
        }
        MediaKind::Audio { length_ms: None }
        | MediaKind::Video {
            length_ms: None, ..
        } => by_bytes(FAIR_SOUND_BYTES),
        MediaKind::Audio { .. } | MediaKind::Video { .. } => most_tokens(part, rules),
        MediaKind::Document => by_bytes(FAIR_FILE_BYTES),
    }
}
