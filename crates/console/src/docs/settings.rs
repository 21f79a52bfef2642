//! What an installation fills into its pages.

use crate::settings::ConsoleSettings;

/// Instance settings shown in the pages.
#[derive(Debug, Clone)]
pub(crate) struct DocsSettings {
    /// Where calls go, without a path, such as `https://api.example.com`.
    pub(super) base_url: String,
    /// Where the console is, without a slash at the end.
    pub(super) dash_url: String,
    /// The model in examples.
    pub(super) model: String,
}

// === impl DocsSettings ===

impl DocsSettings {
    pub(crate) fn of(settings: &ConsoleSettings) -> Self {
        let base_url = settings.base_url.trim_end_matches("/v1");
        Self {
            base_url: base_url.to_owned(),
            dash_url: settings.dash_url.clone(),
            model: settings.docs_model.clone(),
        }
    }

    /// The text with this installation's own words in their places.
    pub(super) fn filled(&self, text: &str) -> String {
        text.replace("{{base_url}}", &self.base_url)
            .replace("{{dash_url}}", &self.dash_url)
            .replace("{{model}}", &self.model)
    }
}
