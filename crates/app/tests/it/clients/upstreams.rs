//! One model of `trunkline dev` for each format that an upstream can speak.

/// A model, and where its upstream is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Upstream {
    pub(crate) model: &'static str,
    /// One that can be asked as Gemini too, which only such a name can.
    pub(crate) gemini: &'static str,
    /// The same, or the one beside it that thinks where this one does not.
    pub(crate) thinking: &'static str,
    /// The end of the path of a streamed call at the upstream.
    pub(crate) path: &'static str,
}

pub(crate) const CHAT: Upstream = Upstream {
    // Agents ask for longer answers than sim-fast writes.
    model: "sim-large",
    gemini: "gemini-sim-chat",
    thinking: "sim-reason",
    path: "/chat/completions",
};
pub(crate) const CLAUDE: Upstream = Upstream {
    model: "sim-claude",
    gemini: "gemini-sim-claude",
    thinking: "sim-claude",
    path: "/messages",
};
pub(crate) const RESPONSES: Upstream = Upstream {
    model: "sim-responses",
    gemini: "gemini-sim-responses",
    thinking: "sim-responses",
    path: "/responses",
};
pub(crate) const GEMINI: Upstream = Upstream {
    model: "sim-gemini",
    gemini: "gemini-sim",
    thinking: "sim-gemini",
    path: ":streamGenerateContent",
};
pub(crate) const ALL: [Upstream; 4] = [CHAT, CLAUDE, RESPONSES, GEMINI];

// === impl Upstream ===

impl Upstream {
    /// The same upstream behind a model that Google's clients can ask for.
    pub(crate) fn for_gemini(self) -> Self {
        Self {
            model: self.gemini,
            thinking: self.gemini,
            ..self
        }
    }
}
