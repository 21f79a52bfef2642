//! Faces: the closed list of billable dimensions of a model, and their units.

use crate::closed_enum::closed_enum;

/// What one line of a price list prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Face {
    /// Plain input: prompt tokens, or characters of text to speak.
    Input,
    /// Plain output tokens.
    Output,
    /// Input tokens read from a prompt cache.
    CacheRead,
    /// Input tokens written to a prompt cache for five minutes.
    CacheWrite,
    /// Input tokens written to a prompt cache for one hour.
    CacheWrite1h,
    /// Input tokens of images, or pictures that a video is made with.
    ImageInput,
    /// Output tokens of images.
    ImageOutput,
    /// Input tokens of audio, or seconds of uploaded audio.
    AudioInput,
    /// Output tokens of audio.
    AudioOutput,
    /// One call, or one image.
    PerCall,
    /// One second of generated video.
    VideoSecond,
}

/// Which limit of a call bounds a face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Bounded by the size of the request.
    Input,
    /// Bounded by the declared maximum of the response.
    Output,
    /// Known exactly before the call.
    Fixed,
}

/// The unit of a model's price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BillingUnit {
    /// Tokens in and out.
    Tokens,
    /// Seconds of generated video.
    PerSecond,
    /// Calls, or images.
    PerCall,
    /// Characters (Unicode scalar values) of input text.
    Characters,
    /// Seconds of uploaded audio at a thousand tokens a minute.
    AudioDuration,
}

// === impl Face ===

impl Face {
    /// All eleven, in the order they are shown.
    pub const ALL: [Self; 11] = [
        Self::Input,
        Self::Output,
        Self::CacheRead,
        Self::CacheWrite,
        Self::CacheWrite1h,
        Self::ImageInput,
        Self::ImageOutput,
        Self::AudioInput,
        Self::AudioOutput,
        Self::PerCall,
        Self::VideoSecond,
    ];

    /// The name used in price lists and usage rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::CacheRead => "cache_read",
            Self::CacheWrite => "cache_write",
            Self::CacheWrite1h => "cache_write_1h",
            Self::ImageInput => "image_input",
            Self::ImageOutput => "image_output",
            Self::AudioInput => "audio_input",
            Self::AudioOutput => "audio_output",
            Self::PerCall => "per_call",
            Self::VideoSecond => "video_second",
        }
    }

    /// Its place in [`Face::ALL`].
    pub(crate) const fn place(self) -> usize {
        match self {
            Self::Input => 0,
            Self::Output => 1,
            Self::CacheRead => 2,
            Self::CacheWrite => 3,
            Self::CacheWrite1h => 4,
            Self::ImageInput => 5,
            Self::ImageOutput => 6,
            Self::AudioInput => 7,
            Self::AudioOutput => 8,
            Self::PerCall => 9,
            Self::VideoSecond => 10,
        }
    }

    /// The face whose price applies when a price list does not price this one.
    ///
    /// A list need not repeat the input price for every kind of input; a face without a fallback must be priced, so
    /// nothing is ever billed at an implicit zero.
    #[must_use]
    pub const fn stand_in(self) -> Option<Self> {
        match self {
            Self::CacheRead | Self::CacheWrite | Self::ImageInput | Self::AudioInput => {
                Some(Self::Input)
            }
            Self::CacheWrite1h => Some(Self::CacheWrite),
            Self::ImageOutput | Self::AudioOutput => Some(Self::Output),
            Self::Input | Self::Output | Self::PerCall | Self::VideoSecond => None,
        }
    }

    /// Which limit of a call bounds this face.
    #[must_use]
    pub const fn side(self) -> Side {
        match self {
            Self::Input
            | Self::CacheRead
            | Self::CacheWrite
            | Self::CacheWrite1h
            | Self::ImageInput
            | Self::AudioInput => Side::Input,
            Self::Output | Self::ImageOutput | Self::AudioOutput => Side::Output,
            Self::PerCall | Self::VideoSecond => Side::Fixed,
        }
    }
}

impl BillingUnit {
    pub const ALL: [Self; 5] = [
        Self::Tokens,
        Self::PerSecond,
        Self::PerCall,
        Self::Characters,
        Self::AudioDuration,
    ];

    /// The name in catalog records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::PerSecond => "per_second",
            Self::PerCall => "per_call",
            Self::Characters => "characters",
            Self::AudioDuration => "audio_duration",
        }
    }

    /// The faces a list with this unit must price.
    #[must_use]
    pub const fn required_faces(self) -> &'static [Face] {
        match self {
            Self::Tokens => &[Face::Input, Face::Output],
            Self::PerSecond => &[Face::VideoSecond],
            Self::PerCall => &[Face::PerCall],
            Self::Characters => &[Face::Input],
            Self::AudioDuration => &[Face::AudioInput],
        }
    }

    /// True if a list with this unit may price the face at all.
    #[must_use]
    pub const fn may_price(self, face: Face) -> bool {
        match self {
            Self::Tokens => matches!(face.side(), Side::Input | Side::Output),
            Self::PerSecond => matches!(face, Face::VideoSecond | Face::ImageInput),
            Self::PerCall => matches!(face, Face::PerCall),
            Self::Characters => matches!(face, Face::Input),
            Self::AudioDuration => matches!(face, Face::AudioInput),
        }
    }
}

closed_enum!(Face, "face");
closed_enum!(BillingUnit, "billing unit");

#[cfg(test)]
mod tests {
    use super::*;

    // covers: D-2-10, G-2.6-78
    #[test]
    fn the_eleven_face_names_are_a_closed_list() {
        let names = Face::ALL.map(Face::name);
        assert_eq!(
            names,
            [
                "input",
                "output",
                "cache_read",
                "cache_write",
                "cache_write_1h",
                "image_input",
                "image_output",
                "audio_input",
                "audio_output",
                "per_call",
                "video_second",
            ]
        );
        for (place, face) in Face::ALL.into_iter().enumerate() {
            assert_eq!(face.place(), place);
        }
        for name in names {
            let face: Face = serde_json::from_str(&format!("{name:?}")).unwrap();
            assert_eq!(serde_json::to_string(&face).unwrap(), format!("{name:?}"));
        }
        let refused = "video_minute".parse::<Face>().unwrap_err().to_string();
        assert!(
            refused.contains("unknown face \"video_minute\"") && refused.contains("cache_write_1h")
        );
        for wrong in ["Input", "input ", "", "cache_write_5m"] {
            assert!(
                serde_json::from_str::<Face>(&format!("{wrong:?}")).is_err(),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn the_billing_units_are_the_five_of_the_specification() {
        assert_eq!(
            BillingUnit::ALL.map(BillingUnit::name),
            [
                "tokens",
                "per_second",
                "per_call",
                "characters",
                "audio_duration"
            ]
        );
        assert!("per_minute".parse::<BillingUnit>().is_err());
        for unit in BillingUnit::ALL {
            assert!(
                unit.required_faces()
                    .iter()
                    .all(|face| unit.may_price(*face)),
                "{unit}"
            );
            assert_eq!(unit.name().parse::<BillingUnit>(), Ok(unit));
        }
        assert!(!BillingUnit::Tokens.may_price(Face::PerCall));
        assert!(!BillingUnit::Tokens.may_price(Face::VideoSecond));
        assert!(!BillingUnit::PerSecond.may_price(Face::PerCall));
        assert!(!BillingUnit::PerCall.may_price(Face::VideoSecond));
        assert!(!BillingUnit::Characters.may_price(Face::AudioOutput));
        assert!(!BillingUnit::AudioDuration.may_price(Face::Output));
    }

    #[test]
    fn a_stand_in_stays_on_its_side_and_ends() {
        for face in Face::ALL {
            let mut current = face;
            let mut steps = 0;
            while let Some(next) = current.stand_in() {
                assert_eq!(next.side(), face.side(), "{face}");
                current = next;
                steps += 1;
                assert!(steps <= 2, "{face} never ends");
            }
        }
        assert_eq!(Face::CacheWrite1h.stand_in(), Some(Face::CacheWrite));
        assert_eq!(Face::AudioOutput.stand_in(), Some(Face::Output));
        assert_eq!(Face::CacheRead.stand_in(), Some(Face::Input));
        assert_eq!(Face::PerCall.stand_in(), None);
    }
}
