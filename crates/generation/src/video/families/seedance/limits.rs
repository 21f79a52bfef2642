//! What a record of this family allows; where it is silent, what its variant does.

use trunkline_catalog::Specs;

/// The limits of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) least_seconds: u64,
    pub(super) most_seconds: u64,
    pub(super) images: u64,
    pub(super) videos: u64,
    pub(super) audios: u64,
}

/// The variant whose limits are the wide ones, which takes recordings alone and knows task types.
pub(super) const NEWEST: &str = "2_5";
/// No variant makes anything shorter.
const LEAST_SECONDS: u64 = 4;

const WIDE: Limits = Limits {
    least_seconds: LEAST_SECONDS,
    most_seconds: 30,
    images: 30,
    videos: 10,
    audios: 10,
};
const NARROW: Limits = Limits {
    least_seconds: LEAST_SECONDS,
    most_seconds: 15,
    images: 9,
    videos: 3,
    audios: 3,
};

impl Limits {
    pub(super) fn of(variant: &str, specs: &Specs) -> Self {
        let usual = if variant == NEWEST { WIDE } else { NARROW };
        Self {
            least_seconds: specs.min_duration_seconds.unwrap_or(usual.least_seconds),
            most_seconds: specs.max_duration_seconds.unwrap_or(usual.most_seconds),
            images: specs.max_reference_images.unwrap_or(usual.images),
            videos: specs.max_reference_videos.unwrap_or(usual.videos),
            audios: specs.max_reference_audios.unwrap_or(usual.audios),
        }
    }
}
