//! The specification of a model: limits, modalities, effort levels. In a record this is JSON text.

use serde::{Deserialize, Serialize};

/// Output tokens of a model whose record does not say.
pub const DEFAULT_MAX_OUTPUT: u64 = 8_192;
/// The effort levels of a reasoning model whose record lists none.
const DEFAULT_EFFORTS: [&str; 3] = ["low", "medium", "high"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    Llm,
    Image,
    Video,
    Asr,
    Music,
    Decision,
}

/// What is known of a model. What is not known is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specs {
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ModelKind>,
    /// Tokens of input and output together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_input_tokens: Option<u64>,
    /// Tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_modalities: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_modalities: Option<Vec<String>>,
    /// The effort levels; there only for a reasoning model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_efforts: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolutions: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_duration_seconds: Option<u64>,
    /// References of one video, whatever they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_references: Option<u64>,
    /// Reference images of one video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_reference_images: Option<u64>,
    /// Reference clips of one video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_reference_videos: Option<u64>,
    /// Reference recordings of one video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_reference_audios: Option<u64>,
    /// Which family of video models it is of, and which of its variants, such as `a_text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video_family: Option<String>,
    /// Lengths that a video can have in seconds, the usual one first, where they are few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durations: Option<Vec<u64>>,
    /// Request fields of a video model outside the families beyond those all know: a name at the top,
    /// or one in `metadata` with that before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_fields: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_images: Option<u64>,
    /// The default size of an image, where prices depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_size: Option<String>,
    /// Words for how good a picture is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qualities: Option<Vec<String>>,
    /// The default quality of an image, where prices depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_quality: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voices: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_formats: Option<Vec<String>>,
    /// Characters to speak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_input_characters: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_upload_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_upload_bytes: Option<u64>,
    /// Bits of a sample that an uploaded wav file must have as plain PCM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_pcm_bits: Option<u64>,
    /// Which of its vendor's ways of recognition it takes, where there are several, such as `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recognition: Option<String>,
    /// What there is to say about its prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing_notes: Option<String>,
}

impl Specs {
    /// Output tokens of one answer at most.
    #[must_use]
    pub fn max_output(&self) -> u64 {
        self.max_output_tokens.unwrap_or(DEFAULT_MAX_OUTPUT)
    }

    /// Whether the record lists effort levels, so that the model gets a level instead of a budget.
    #[must_use]
    pub fn thinks_by_effort(&self) -> bool {
        let listed = self.reasoning_efforts.as_deref();
        listed.is_some_and(|words| !words.is_empty())
    }

    pub fn efforts(&self) -> impl Iterator<Item = &str> {
        let listed = self.reasoning_efforts.as_deref().unwrap_or_default();
        let defaults = DEFAULT_EFFORTS
            .iter()
            .copied()
            .filter(|_| listed.is_empty());
        listed.iter().map(String::as_str).chain(defaults)
    }
}
