//! Endpoint types: the closed list of endpoints under which the catalog sells a model.

use crate::closed_enum::closed_enum;

/// The endpoint of a model, by its name in the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndpointType {
    Openai,
    Anthropic,
    OpenaiResponse,
    OpenaiVideo,
    ImageGeneration,
    AudioSpeech,
    AudioTranscription,
    Realtime,
    Gemini,
    /// Music. A name in the catalog without a path.
    MusicGeneration,
    /// A name in the catalog without a path.
    SystemOne,
}

// === impl EndpointType ===

impl EndpointType {
    /// All eleven, in the order of the specification.
    pub const ALL: [Self; 11] = [
        Self::Openai,
        Self::Anthropic,
        Self::OpenaiResponse,
        Self::OpenaiVideo,
        Self::ImageGeneration,
        Self::AudioSpeech,
        Self::AudioTranscription,
        Self::Realtime,
        Self::Gemini,
        Self::MusicGeneration,
        Self::SystemOne,
    ];

    /// The name in catalog records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::OpenaiResponse => "openai-response",
            Self::OpenaiVideo => "openai-video",
            Self::ImageGeneration => "image-generation",
            Self::AudioSpeech => "audio-speech",
            Self::AudioTranscription => "audio-transcription",
            Self::Realtime => "realtime",
            Self::Gemini => "gemini",
            Self::MusicGeneration => "music-generation",
            Self::SystemOne => "system-one",
        }
    }

    /// Whether there is a path for it. A record that has only others can be shown and not sold.
    #[must_use]
    pub const fn is_callable(self) -> bool {
        match self {
            Self::Openai
            | Self::Anthropic
            | Self::OpenaiResponse
            | Self::OpenaiVideo
            | Self::ImageGeneration
            | Self::AudioSpeech
            | Self::AudioTranscription
            | Self::Realtime
            | Self::Gemini => true,
            Self::MusicGeneration | Self::SystemOne => false,
        }
    }
}

closed_enum!(EndpointType, "endpoint type");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eleven_endpoint_types_are_the_words_of_the_specification() {
        assert_eq!(
            EndpointType::ALL.map(EndpointType::name),
            [
                "openai",
                "anthropic",
                "openai-response",
                "openai-video",
                "image-generation",
                "audio-speech",
                "audio-transcription",
                "realtime",
                "gemini",
                "music-generation",
                "system-one",
            ]
        );
        for kind in EndpointType::ALL {
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("{:?}", kind.name()));
            assert_eq!(serde_json::from_str::<EndpointType>(&json).unwrap(), kind);
        }
        let refused = "openai_response".parse::<EndpointType>().unwrap_err();
        let refused = refused.to_string();
        assert!(
            refused.starts_with("unknown endpoint type \"openai_response\"; known are openai,"),
            "{refused}"
        );
    }

    #[test]
    fn music_and_system_one_are_words_without_a_path() {
        let without: Vec<&str> = EndpointType::ALL
            .into_iter()
            .filter(|kind| !kind.is_callable())
            .map(EndpointType::name)
            .collect();
        assert_eq!(without, ["music-generation", "system-one"]);
    }
}
