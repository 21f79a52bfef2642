//! The chat formats.

/// A body format with its stream format and its error format. Which vendors speak it is data of providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// OpenAI chat completions and compatible vendors.
    OpenaiChat,
    ClaudeMessages,
    OpenaiResponses,
    Gemini,
}

impl Format {
    /// All of them, in the order of the matrix.
    pub const ALL: [Self; 4] = [
        Self::OpenaiChat,
        Self::ClaudeMessages,
        Self::OpenaiResponses,
        Self::Gemini,
    ];

    /// Its name in files and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai_chat",
            Self::ClaudeMessages => "claude_messages",
            Self::OpenaiResponses => "openai_responses",
            Self::Gemini => "gemini",
        }
    }

    /// The format of a name.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == word)
    }
}
