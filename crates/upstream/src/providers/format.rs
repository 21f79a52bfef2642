//! Formats of providers, and which of our endpoints each can serve.

use trunkline_types::EndpointType;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    OpenaiChat,
    ClaudeMessages,
    OpenaiResponses,
    Gemini,
    OpenaiImages,
    /// `MiniMax` `image_generation`.
    MinimaxImages,
    /// `DashScope` images.
    DashscopeImages,
    ArkImages,
    OpenaiSpeech,
    /// `MiniMax` `t2a_v2`.
    MinimaxSpeech,
    /// `DashScope` speech.
    DashscopeSpeech,
    OpenaiTranscription,
    /// `DashScope` recognition.
    DashscopeTranscription,
    ZhipuTranscription,
    /// `DashScope` video tasks.
    DashscopeVideo,
    ArkVideo,
    /// Kling video tasks, both designs.
    KlingVideo,
    /// `MiniMax` video tasks, both versions.
    MinimaxVideo,
    OpenaiVideo,
    /// OpenAI realtime over a WebSocket.
    OpenaiRealtime,
    SocialData,
}

// === impl Format ===

impl Format {
    pub const ALL: [Self; 21] = [
        Self::OpenaiChat,
        Self::ClaudeMessages,
        Self::OpenaiResponses,
        Self::Gemini,
        Self::OpenaiImages,
        Self::MinimaxImages,
        Self::DashscopeImages,
        Self::ArkImages,
        Self::OpenaiSpeech,
        Self::MinimaxSpeech,
        Self::DashscopeSpeech,
        Self::OpenaiTranscription,
        Self::DashscopeTranscription,
        Self::ZhipuTranscription,
        Self::DashscopeVideo,
        Self::ArkVideo,
        Self::KlingVideo,
        Self::MinimaxVideo,
        Self::OpenaiVideo,
        Self::OpenaiRealtime,
        Self::SocialData,
    ];

    /// Its name in provider files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai_chat",
            Self::ClaudeMessages => "claude_messages",
            Self::OpenaiResponses => "openai_responses",
            Self::Gemini => "gemini",
            Self::OpenaiImages => "openai_images",
            Self::MinimaxImages => "minimax_images",
            Self::DashscopeImages => "dashscope_images",
            Self::ArkImages => "ark_images",
            Self::OpenaiSpeech => "openai_speech",
            Self::MinimaxSpeech => "minimax_speech",
            Self::DashscopeSpeech => "dashscope_speech",
            Self::OpenaiTranscription => "openai_transcription",
            Self::DashscopeTranscription => "dashscope_transcription",
            Self::ZhipuTranscription => "zhipu_transcription",
            Self::DashscopeVideo => "dashscope_video",
            Self::ArkVideo => "ark_video",
            Self::KlingVideo => "kling_video",
            Self::MinimaxVideo => "minimax_video",
            Self::OpenaiVideo => "openai_video",
            Self::OpenaiRealtime => "openai_realtime",
            Self::SocialData => "social_data",
        }
    }

    /// Whether a provider with this format can serve a model of an endpoint type. The three chat formats are
    /// translated into each other and into Gemini's; no other format can serve Gemini's endpoint.
    #[must_use]
    pub const fn serves(self, endpoint: EndpointType) -> bool {
        let is_chat = matches!(
            endpoint,
            EndpointType::Openai | EndpointType::Anthropic | EndpointType::OpenaiResponse
        );
        match self {
            Self::OpenaiChat | Self::ClaudeMessages | Self::OpenaiResponses => is_chat,
            Self::Gemini => is_chat || matches!(endpoint, EndpointType::Gemini),
            Self::OpenaiImages | Self::MinimaxImages | Self::DashscopeImages | Self::ArkImages => {
                matches!(endpoint, EndpointType::ImageGeneration)
            }
            Self::OpenaiSpeech | Self::MinimaxSpeech | Self::DashscopeSpeech => {
                matches!(endpoint, EndpointType::AudioSpeech)
            }
            Self::OpenaiTranscription | Self::DashscopeTranscription | Self::ZhipuTranscription => {
                matches!(endpoint, EndpointType::AudioTranscription)
            }
            Self::DashscopeVideo
            | Self::ArkVideo
            | Self::KlingVideo
            | Self::MinimaxVideo
            | Self::OpenaiVideo => matches!(endpoint, EndpointType::OpenaiVideo),
            Self::OpenaiRealtime => matches!(endpoint, EndpointType::Realtime),
            // Social data has its own endpoints, which are not in the model catalog.
            Self::SocialData => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_serves_what_it_can_be_translated_to_and_nothing_else() {
        let served = |format: Format| -> Vec<&str> {
            EndpointType::ALL
                .into_iter()
                .filter(|endpoint| format.serves(*endpoint))
                .map(EndpointType::name)
                .collect()
        };
        let chat = ["openai", "anthropic", "openai-response"];
        let rows: [(&[&str], &[Format]); 8] = [
            (
                &chat,
                &[
                    Format::OpenaiChat,
                    Format::ClaudeMessages,
                    Format::OpenaiResponses,
                ],
            ),
            (
                &["openai", "anthropic", "openai-response", "gemini"],
                &[Format::Gemini],
            ),
            (
                &["image-generation"],
                &[
                    Format::OpenaiImages,
                    Format::MinimaxImages,
                    Format::DashscopeImages,
                    Format::ArkImages,
                ],
            ),
            (
                &["audio-speech"],
                &[
                    Format::OpenaiSpeech,
                    Format::MinimaxSpeech,
                    Format::DashscopeSpeech,
                ],
            ),
            (
                &["audio-transcription"],
                &[
                    Format::OpenaiTranscription,
                    Format::DashscopeTranscription,
                    Format::ZhipuTranscription,
                ],
            ),
            (
                &["openai-video"],
                &[
                    Format::DashscopeVideo,
                    Format::ArkVideo,
                    Format::KlingVideo,
                    Format::MinimaxVideo,
                    Format::OpenaiVideo,
                ],
            ),
            (&["realtime"], &[Format::OpenaiRealtime]),
            (&[], &[Format::SocialData]),
        ];
        let mut seen = Vec::new();
        for (endpoints, formats) in rows {
            for format in formats {
                assert_eq!(served(*format), endpoints, "{}", format.as_str());
                seen.push(*format);
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, Format::ALL, "every format is in the table");
        for format in Format::ALL {
            for endpoint in EndpointType::ALL {
                assert!(endpoint.is_callable() || !format.serves(endpoint));
            }
        }
    }
}
