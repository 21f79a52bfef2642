//! What each agent needs to be told: an address, a key and a model. All variables are set for every command;
//! two agents need more, because they read their settings from files. Gemini CLI names its kind of login in a
//! file of its own, which only its user can write.

use std::path::Path;

use serde_json::json;

/// Credentials of the person who runs the command. An agent that finds one would spend past the budget.
pub(super) const OTHER_CREDENTIALS: [&str; 8] = [
    "ANTHROPIC_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CODEX_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_GENAI_USE_GCA",
];

/// The name under which Codex and opencode know the gateway.
const PROVIDER: &str = "trunkline";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// A command as it is started.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<Variable>,
    agent: Agent,
    api: String,
}

/// Agents that are told by more than variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agent {
    Codex,
    Opencode,
    Other,
}

// === impl Launch ===

impl Launch {
    pub(super) fn new(command: &[String], base_url: &str, key: &str) -> Self {
        let api = format!("{base_url}/v1");
        let mut launch = Self {
            program: command.first().cloned().unwrap_or_default(),
            arguments: command.iter().skip(1).cloned().collect(),
            variables: Vec::new(),
            agent: Agent::Other,
            api,
        };
        launch.agent = Agent::of(&launch.program);
        for name in ["TRUNKLINE_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"] {
            launch.set(name, key.to_owned());
        }
        launch.set("ANTHROPIC_AUTH_TOKEN", key.to_owned());
        for name in [
            "TRUNKLINE_BASE_URL",
            "ANTHROPIC_BASE_URL",
            "GOOGLE_GEMINI_BASE_URL",
        ] {
            launch.set(name, base_url.to_owned());
        }
        launch.set("OPENAI_BASE_URL", launch.api.clone());
        launch.set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned());
        if launch.agent == Agent::Codex {
            launch.configure_codex();
        }
        launch
    }

    pub(super) fn with_model(mut self, model: Option<&str>) -> Self {
        match (self.agent, model) {
            (Agent::Codex, Some(model)) => {
                self.put_first(["-c".to_owned(), format!("model={}", json!(model))]);
            }
            (Agent::Opencode, model) => self.configure_opencode(model),
            (Agent::Other, Some(model)) => {
                self.set("ANTHROPIC_MODEL", model.to_owned());
                self.set("GEMINI_MODEL", model.to_owned());
            }
            (Agent::Codex | Agent::Other, None) => {}
        }
        self
    }

    fn set(&mut self, name: &'static str, value: String) {
        self.variables.push(Variable { name, value });
    }

    fn put_first(&mut self, words: [String; 2]) {
        self.arguments.splice(0..0, words);
    }

    /// Codex reads its provider from a file or from `-c`; values are TOML, of which JSON strings are a part.
    fn configure_codex(&mut self) {
        let of = |field: &str, value: &str| {
            format!("model_providers.{PROVIDER}.{field}={}", json!(value))
        };
        let settings = [
            format!("model_provider={}", json!(PROVIDER)),
            of("name", "Trunkline"),
            of("base_url", &self.api),
            of("env_key", "TRUNKLINE_KEY"),
            of("wire_api", "responses"),
        ];
        for setting in settings {
            self.put_first(["-c".to_owned(), setting]);
        }
    }

    /// opencode takes a whole settings file from a variable, and knows only models that are named in it.
    fn configure_opencode(&mut self, model: Option<&str>) {
        let Some(model) = model else { return };
        let settings = json!({
            "model": format!("{PROVIDER}/{model}"),
            "provider": { PROVIDER: {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Trunkline",
                "options": { "baseURL": self.api, "apiKey": "{env:TRUNKLINE_KEY}" },
                "models": { model: { "name": model } },
            }},
        });
        self.set("OPENCODE_CONFIG_CONTENT", settings.to_string());
        self.set("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned());
    }
}

// === impl Agent ===

impl Agent {
    fn of(program: &str) -> Self {
        let name = Path::new(program)
            .file_name()
            .and_then(|name| name.to_str());
        match name {
            Some("codex") => Self::Codex,
            Some("opencode") => Self::Opencode,
            Some(_) | None => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(words: &[&str], model: Option<&str>) -> Launch {
        let command: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Launch::new(&command, "https://gateway.test", "sk-tl-x").with_model(model)
    }

    fn value<'a>(launch: &'a Launch, name: &str) -> Option<&'a str> {
        let found = launch.variables.iter().find(|one| one.name == name);
        found.map(|one| one.value.as_str())
    }

    #[test]
    fn a_command_gets_the_addresses_and_the_key_that_each_vendors_client_reads() {
        let launch = launch(&["claude", "-p", "hi"], Some("claude-sonnet-5"));
        assert_eq!(launch.program, "claude");
        assert_eq!(launch.arguments, ["-p", "hi"]);
        for (name, expected) in [
            ("ANTHROPIC_BASE_URL", "https://gateway.test"),
            ("ANTHROPIC_AUTH_TOKEN", "sk-tl-x"),
            ("ANTHROPIC_MODEL", "claude-sonnet-5"),
            ("OPENAI_BASE_URL", "https://gateway.test/v1"),
            ("OPENAI_API_KEY", "sk-tl-x"),
            ("GOOGLE_GEMINI_BASE_URL", "https://gateway.test"),
            ("GEMINI_API_KEY", "sk-tl-x"),
            ("TRUNKLINE_KEY", "sk-tl-x"),
        ] {
            assert_eq!(value(&launch, name), Some(expected), "{name}");
        }
    }

    #[test]
    fn codex_is_told_by_its_own_options_and_opencode_by_its_settings() {
        let codex = launch(&["/usr/bin/codex", "exec", "hi"], Some("gpt-5.5"));
        let words = codex.arguments.join(" ");
        assert!(words.starts_with("-c model=\"gpt-5.5\" "), "{words}");
        let address = "-c model_providers.trunkline.base_url=\"https://gateway.test/v1\"";
        assert!(
            words.contains(address) && words.ends_with("exec hi"),
            "{words}"
        );
        let opencode = launch(&["opencode", "run"], Some("gpt-5.5"));
        let settings = value(&opencode, "OPENCODE_CONFIG_CONTENT").unwrap();
        let settings: serde_json::Value = serde_json::from_str(settings).unwrap();
        assert_eq!(settings["model"], "trunkline/gpt-5.5");
        let without = launch(&["opencode", "run"], None);
        assert_eq!(value(&without, "OPENCODE_CONFIG_CONTENT"), None);
    }
}
