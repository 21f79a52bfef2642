//! The formats that conversations are held in.

/// A body shape with a stream grammar and an error shape. Who speaks it is another matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// OpenAI chat completions, and everybody who imitates them.
    OpenaiChat,
    /// Anthropic messages.
    ClaudeMessages,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Google's generateContent.
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

    /// Its word in files, logs and marks.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai_chat",
            Self::ClaudeMessages => "claude_messages",
            Self::OpenaiResponses => "openai_responses",
            Self::Gemini => "gemini",
        }
    }

    /// The format of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.word() == word)
    }
}
