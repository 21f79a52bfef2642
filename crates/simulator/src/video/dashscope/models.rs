//! The vendor's models: what each is called, what it needs and what media it works with.

/// The models that there are; a day may stand behind their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    WanText,
    WanImage,
    WanReference,
    WanEdit,
    HorseText,
    HorseImage,
    HorseReference,
}

/// Counts of media by what they are for.
#[derive(Debug, Default)]
pub(super) struct Gathered<'a> {
    pub(super) frames: usize,
    pub(super) pictures: usize,
    pub(super) clips: Vec<&'a str>,
    pub(super) sources: Vec<&'a str>,
}

const MODELS: [(&str, Model); 7] = [
    ("wan2.7-t2v", Model::WanText),
    ("wan2.7-i2v", Model::WanImage),
    ("wan2.7-r2v", Model::WanReference),
    ("wan2.7-videoedit", Model::WanEdit),
    ("happyhorse-1.1-t2v", Model::HorseText),
    ("happyhorse-1.1-i2v", Model::HorseImage),
    ("happyhorse-1.1-r2v", Model::HorseReference),
];
const MAX_WAN_REFERENCES: usize = 5;
const MAX_HORSE_REFERENCES: usize = 9;

// === impl Model ===

impl Model {
    pub(super) fn named(name: &str) -> Option<Self> {
        let mut models = MODELS.into_iter();
        let is_it = |known: &str| {
            let day = name.strip_prefix(known);
            day.is_some_and(|day| day.is_empty() || day.starts_with("-20"))
        };
        models
            .find(|(known, _)| is_it(known))
            .map(|(_, model)| model)
    }

    pub(super) fn is_horse(self) -> bool {
        match self {
            Self::HorseText | Self::HorseImage | Self::HorseReference => true,
            Self::WanText | Self::WanImage | Self::WanReference | Self::WanEdit => false,
        }
    }

    pub(super) fn needs_prompt(self) -> bool {
        match self {
            Self::WanText | Self::WanReference | Self::HorseText | Self::HorseReference => true,
            Self::WanImage | Self::WanEdit | Self::HorseImage => false,
        }
    }

    /// Whether these are media that it can work with.
    pub(super) fn takes(self, media: &Gathered<'_>) -> bool {
        let references = media.pictures.saturating_add(media.clips.len());
        let (frames, sources) = (media.frames, media.sources.len());
        match self {
            Self::WanText | Self::HorseText => references == 0 && frames == 0 && sources == 0,
            Self::WanImage | Self::HorseImage => frames == 1 && references == 0 && sources == 0,
            Self::WanReference => {
                (1..=MAX_WAN_REFERENCES).contains(&references) && frames <= 1 && sources == 0
            }
            Self::HorseReference => {
                let only_pictures = media.clips.is_empty() && frames == 0 && sources == 0;
                (1..=MAX_HORSE_REFERENCES).contains(&references) && only_pictures
            }
            Self::WanEdit => sources == 1 && media.clips.is_empty() && frames == 0,
        }
    }

    pub(super) fn lengths(self) -> std::ops::RangeInclusive<u64> {
        match self {
            Self::WanText | Self::WanImage => 2..=15,
            Self::WanReference => 2..=10,
            Self::WanEdit => 0..=10,
            Self::HorseText | Self::HorseImage | Self::HorseReference => 3..=15,
        }
    }
}
