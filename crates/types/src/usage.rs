//! Measured usage, in disjoint buckets. An absent bucket was not reported; a bucket of zero was reported as zero.
//! Only [`Usage::billed`] converts usage to priced units.

use std::collections::BTreeMap;

use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{BillingUnit, Face, MAX_QUANTITY, Units, UnitsError};

/// One measured quantity. No unit of use is in two buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// Input tokens that are none of the special kinds below.
    PlainInput,
    /// Input tokens read from a prompt cache.
    CacheRead,
    /// Input tokens of audio read from a prompt cache.
    CachedAudio,
    /// Input tokens written to a cache that lives five minutes.
    #[serde(rename = "cache_write_5m")]
    CacheWrite5m,
    /// Input tokens written to a cache that lives one hour.
    #[serde(rename = "cache_write_1h")]
    CacheWrite1h,
    /// Input tokens of images.
    ImageInput,
    /// Input tokens of audio.
    AudioInput,
    /// Output tokens of text, reasoning included.
    PlainOutput,
    /// Output tokens of images.
    ImageOutput,
    /// Output tokens of audio.
    AudioOutput,
    /// Characters (Unicode scalar values) of text to speak.
    Characters,
    /// Seconds of uploaded audio.
    AudioSeconds,
    /// Seconds of a connection; none of the faces bills them.
    ConnectionSeconds,
    /// Seconds of generated video.
    VideoSeconds,
    /// Calls, or images.
    Calls,
    /// Reference images of a video, in excess of the free ones.
    ReferenceImages,
}

/// What a quantity is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Measure {
    Bucket(Bucket),
    /// Calls of a vendor-run tool, by its name.
    ToolCalls(String),
}

/// Before the name of a tool, in usage as it is stored.
const TOOL_CALLS: &str = "tool_calls:";

/// What was measured, in the order of the buckets. A call has a few, so a list is quicker than a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage(Vec<(Measure, u64)>);

/// Why usage cannot be billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// A quantity that no call can have.
    #[error(transparent)]
    Units(#[from] UnitsError),
    /// Nothing of what the model is billed by was measured.
    #[error("no usage was measured in the unit the model is billed by ({0})")]
    Absent(BillingUnit),
}

// === impl Bucket ===

impl Bucket {
    /// The face that prices this bucket in a list of the given unit; none if that unit does not bill it (it is still
    /// in the usage row).
    #[must_use]
    pub fn face(self, unit: BillingUnit) -> Option<Face> {
        let (billed_by, face) = match self {
            Self::PlainInput => (BillingUnit::Tokens, Face::Input),
            Self::CacheRead | Self::CachedAudio => (BillingUnit::Tokens, Face::CacheRead),
            Self::CacheWrite5m => (BillingUnit::Tokens, Face::CacheWrite),
            Self::CacheWrite1h => (BillingUnit::Tokens, Face::CacheWrite1h),
            Self::ImageInput => (BillingUnit::Tokens, Face::ImageInput),
            Self::AudioInput => (BillingUnit::Tokens, Face::AudioInput),
            Self::PlainOutput => (BillingUnit::Tokens, Face::Output),
            Self::ImageOutput => (BillingUnit::Tokens, Face::ImageOutput),
            Self::AudioOutput => (BillingUnit::Tokens, Face::AudioOutput),
            Self::Characters => (BillingUnit::Characters, Face::Input),
            Self::AudioSeconds => (BillingUnit::AudioDuration, Face::AudioInput),
            Self::ConnectionSeconds => return None,
            Self::VideoSeconds => (BillingUnit::PerSecond, Face::VideoSecond),
            Self::Calls => (BillingUnit::PerCall, Face::PerCall),
            Self::ReferenceImages => (BillingUnit::PerSecond, Face::ImageInput),
        };
        (unit == billed_by).then_some(face)
    }
}

// === impl Measure ===

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bucket(bucket) => bucket.serialize(serializer),
            Self::ToolCalls(tool) => serializer.collect_str(&format_args!("{TOOL_CALLS}{tool}")),
        }
    }
}

impl<'de> Deserialize<'de> for Measure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.strip_prefix(TOOL_CALLS) {
            Some(tool) => Ok(Self::ToolCalls(tool.to_owned())),
            None => Bucket::deserialize(text.into_deserializer()).map(Self::Bucket),
        }
    }
}

impl Serialize for Usage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self.0.iter();
        serializer.collect_map(all.map(|(measure, quantity)| (measure, quantity)))
    }
}

impl<'de> Deserialize<'de> for Usage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = BTreeMap::<Measure, u64>::deserialize(deserializer)?;
        Ok(Self(all.into_iter().collect()))
    }
}

// === impl Usage ===

impl Usage {
    #[must_use]
    pub fn unknown() -> Self {
        Self::default()
    }

    /// The same with one bucket set; the last value wins.
    #[must_use]
    pub fn with(mut self, bucket: Bucket, quantity: u64) -> Self {
        self.set(Measure::Bucket(bucket), quantity);
        self
    }

    /// The same without one bucket.
    #[must_use]
    pub fn without(mut self, bucket: Bucket) -> Self {
        self.0
            .retain(|(measure, _)| *measure != Measure::Bucket(bucket));
        self
    }

    /// Merges later usage; its value wins in each bucket.
    pub fn tell(&mut self, later: &Self) {
        for (measure, quantity) in &later.0 {
            self.set(measure.clone(), *quantity);
        }
    }

    /// The reported quantity of a bucket.
    #[must_use]
    pub fn reported(&self, bucket: Bucket) -> Option<u64> {
        let measure = Measure::Bucket(bucket);
        let known = self.0.iter().find(|(known, _)| *known == measure);
        known.map(|(_, quantity)| *quantity)
    }

    /// The same with so many calls of a vendor-run tool.
    #[must_use]
    pub fn with_tool_calls(mut self, tool: &str, calls: u64) -> Self {
        self.set(Measure::ToolCalls(tool.to_owned()), calls);
        self
    }

    /// The vendor-run tools that were called, and how often.
    pub fn tool_calls(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().filter_map(|(measure, calls)| match measure {
            Measure::ToolCalls(tool) => Some((tool.as_str(), *calls)),
            Measure::Bucket(_) => None,
        })
    }

    /// The last quantity of a measure counts.
    fn set(&mut self, measure: Measure, quantity: u64) {
        match self.0.binary_search_by(|(known, _)| known.cmp(&measure)) {
            Ok(place) => {
                if let Some((_, known)) = self.0.get_mut(place) {
                    *known = quantity;
                }
            }
            Err(place) => self.0.insert(place, (measure, quantity)),
        }
    }

    /// The units that a list of this unit bills.
    pub fn billed(&self, unit: BillingUnit) -> Result<Units, UsageError> {
        let mut units = Units::none();
        let mut reported = false;
        for (measure, quantity) in &self.0 {
            let face = match measure {
                Measure::Bucket(bucket) => bucket.face(unit),
                Measure::ToolCalls(_) => None,
            };
            if let Some(face) = face {
                units = units.plus(face, *quantity)?;
                reported = true;
            }
        }
        if reported {
            Ok(units)
        } else {
            Err(UsageError::Absent(unit))
        }
    }

    /// Counts the characters of a text to speak: Unicode scalar values.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        let characters = u64::try_from(text.chars().count()).unwrap_or(MAX_QUANTITY);
        Self::unknown().with(Bucket::Characters, characters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: D-2-11, D-2-12
    #[test]
    fn characters_are_unicode_scalar_values_billed_under_input() {
        let billed = |text: &str| {
            Usage::of_text(text)
                .billed(BillingUnit::Characters)
                .unwrap()
        };
        assert_eq!(
            billed("🙂").of(Face::Input),
            1,
            "an emoji of one scalar counts 1"
        );
        assert_eq!(
            billed("e\u{301}").of(Face::Input),
            2,
            "a combining sequence counts each scalar"
        );
        assert_eq!(
            billed("a, b.").of(Face::Input),
            5,
            "punctuation and spaces included"
        );
        assert_eq!(billed("🙂").iter().count(), 1);
    }

    // covers: D-2-13
    #[test]
    fn uploaded_audio_is_billed_under_audio_input_with_audio_duration() {
        let usage = Usage::unknown()
            .with(Bucket::AudioSeconds, 7)
            .with(Bucket::PlainOutput, 99);
        let units = usage.billed(BillingUnit::AudioDuration).unwrap();
        assert_eq!(
            units.iter().collect::<Vec<_>>(),
            [(Face::AudioInput, 7)],
            "the transcript is free"
        );
    }

    #[test]
    fn calls_of_tools_are_measured_beside_the_buckets_and_read_again() {
        let usage = Usage::unknown()
            .with(Bucket::CacheWrite5m, 3)
            .with_tool_calls("web_search", 2);
        let text = serde_json::to_string(&usage).unwrap();
        assert_eq!(text, r#"{"cache_write_5m":3,"tool_calls:web_search":2}"#);
        assert_eq!(serde_json::from_str::<Usage>(&text).unwrap(), usage);
        assert_eq!(usage.tool_calls().collect::<Vec<_>>(), [("web_search", 2)]);
        let units = usage.billed(BillingUnit::Tokens).unwrap();
        assert_eq!(units.iter().collect::<Vec<_>>(), [(Face::CacheWrite, 3)]);
        assert!(serde_json::from_str::<Usage>(r#"{"tools":1}"#).is_err());
    }

    #[test]
    fn absent_usage_is_not_zero_usage() {
        let absent = Usage::unknown().billed(BillingUnit::Tokens);
        assert_eq!(absent, Err(UsageError::Absent(BillingUnit::Tokens)));
        let zero = Usage::unknown()
            .with(Bucket::PlainInput, 0)
            .billed(BillingUnit::Tokens);
        assert_eq!(zero, Ok(Units::none()));
        assert_eq!(
            Usage::unknown()
                .with(Bucket::Calls, 0)
                .reported(Bucket::Calls),
            Some(0)
        );
        assert_eq!(Usage::unknown().reported(Bucket::Calls), None);
    }

    #[test]
    fn each_token_bucket_has_its_own_face() {
        let buckets = [
            (Bucket::PlainInput, Face::Input),
            (Bucket::CacheRead, Face::CacheRead),
            (Bucket::CachedAudio, Face::CacheRead),
            (Bucket::CacheWrite5m, Face::CacheWrite),
            (Bucket::CacheWrite1h, Face::CacheWrite1h),
            (Bucket::ImageInput, Face::ImageInput),
            (Bucket::AudioInput, Face::AudioInput),
            (Bucket::PlainOutput, Face::Output),
            (Bucket::ImageOutput, Face::ImageOutput),
            (Bucket::AudioOutput, Face::AudioOutput),
        ];
        for (bucket, face) in buckets {
            assert_eq!(bucket.face(BillingUnit::Tokens), Some(face));
            assert_eq!(bucket.face(BillingUnit::PerCall), None);
        }
        assert_eq!(
            Bucket::Calls.face(BillingUnit::PerCall),
            Some(Face::PerCall)
        );
        assert_eq!(
            Bucket::VideoSeconds.face(BillingUnit::PerSecond),
            Some(Face::VideoSecond)
        );
        assert_eq!(
            Bucket::ReferenceImages.face(BillingUnit::PerSecond),
            Some(Face::ImageInput)
        );
        assert_eq!(Bucket::Characters.face(BillingUnit::Tokens), None);
        for unit in [BillingUnit::Tokens, BillingUnit::PerSecond] {
            assert_eq!(Bucket::ConnectionSeconds.face(unit), None);
        }
    }

    #[test]
    fn an_absurd_quantity_is_refused_not_wrapped() {
        let usage = Usage::unknown().with(Bucket::Calls, 18_446_744_073_686_646_784);
        assert!(matches!(
            usage.billed(BillingUnit::PerCall),
            Err(UsageError::Units(_))
        ));
    }
}
