//! How a provider's variant of a format differs: fields of the body, and headers. Returned as data; the caller,
//! which has the body, applies it.

use http::{HeaderName, HeaderValue};

use super::{Addressing, Format, Provider, Task};

/// What is changed in a JSON body before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BodyRules {
    /// Fields that must not be there.
    pub without: &'static [&'static str],
    /// Fields that must be there, each with its JSON. They replace what a caller wrote.
    pub set: &'static [(&'static str, &'static str)],
}

/// Bedrock has the model and the response mode in the path.
const BEDROCK: BodyRules = BodyRules {
    without: &["model", "stream"],
    set: &[("anthropic_version", "\"bedrock-2023-05-31\"")],
};
/// Vertex has the model in its path, and still wants `stream` in the body.
const VERTEX: BodyRules = BodyRules {
    without: &["model"],
    set: &[("anthropic_version", "\"vertex-2023-10-16\"")],
};
/// The path of token counting names no model.
const VERTEX_COUNT: BodyRules = BodyRules {
    without: &["stream"],
    set: &[("anthropic_version", "\"vertex-2023-10-16\"")],
};
const NONE: BodyRules = BodyRules {
    without: &[],
    set: &[],
};

// === impl Provider ===

impl Provider {
    /// The changes that the provider needs in a body of this format.
    #[must_use]
    pub fn body_rules(&self, format: Format, task: Task) -> BodyRules {
        if format != Format::ClaudeMessages {
            return NONE;
        }
        match &self.addressing {
            Addressing::Plain | Addressing::Azure { .. } => NONE,
            Addressing::Bedrock => BEDROCK,
            Addressing::Vertex if task == Task::CountTokens => VERTEX_COUNT,
            Addressing::Vertex => VERTEX,
        }
    }

    /// Headers that the format needs here. They take precedence over our defaults; an `anthropic-version` from the
    /// caller takes precedence over them.
    #[must_use]
    pub fn format_headers(&self, format: Format) -> Vec<(HeaderName, HeaderValue)> {
        if format != Format::ClaudeMessages {
            return Vec::new();
        }
        match &self.addressing {
            Addressing::Plain | Addressing::Azure { .. } => vec![(
                HeaderName::from_static("anthropic-version"),
                HeaderValue::from_static("2023-06-01"),
            )],
            // `accept` is about the model's output and not the frames around it; `text/event-stream` is rejected.
            Addressing::Bedrock => vec![(
                http::header::ACCEPT,
                HeaderValue::from_static("application/json"),
            )],
            Addressing::Vertex => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Providers;

    #[test]
    fn claude_on_a_cloud_has_its_version_in_the_body_and_else_in_a_header() {
        let all = Providers::builtin().unwrap();
        let rules = |name: &str, task| {
            let provider = all.get(name).unwrap();
            provider.body_rules(Format::ClaudeMessages, task)
        };
        let bedrock = rules("bedrock", Task::Generate);
        assert_eq!(bedrock.without, ["model", "stream"]);
        assert_eq!(
            bedrock.set,
            [("anthropic_version", r#""bedrock-2023-05-31""#)]
        );
        let vertex = rules("vertex_anthropic", Task::Generate);
        assert_eq!(vertex.without, ["model"], "its streams need the field");
        assert_eq!(
            vertex.set,
            [("anthropic_version", r#""vertex-2023-10-16""#)]
        );
        let count = rules("vertex_anthropic", Task::CountTokens);
        assert!(!count.without.contains(&"model"), "its path names none");
        assert_eq!(rules("anthropic", Task::Generate), BodyRules::default());

        let headers = |name: &str, format| -> Vec<String> {
            let headers = all.get(name).unwrap().format_headers(format);
            let written = headers.iter();
            written
                .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
                .collect()
        };
        let claude = Format::ClaudeMessages;
        assert_eq!(
            headers("anthropic", claude),
            ["anthropic-version: 2023-06-01"]
        );
        assert_eq!(headers("bedrock", claude), ["accept: application/json"]);
        assert!(headers("vertex_anthropic", claude).is_empty());
        assert!(headers("openai", Format::OpenaiChat).is_empty());
        let chat = all.get("azure").unwrap();
        let chat = chat.body_rules(Format::OpenaiChat, Task::Generate);
        assert_eq!(chat, BodyRules::default());
    }
}
