//! One key of the configuration: what it means, its default, and its value in force. The one table of keys is
//! `config.default.toml`: the comment above a key is its meaning, and keys that follow without one share it.

use std::path::Path;

use toml::Value;

use super::ConfigError;
use super::layers::{DEFAULTS, Layers, variable_of, words};

/// Keys whose values are never printed. A test compares them with the types of the values.
const SECRETS: [&str; 12] = [
    "alarms.webhook_secret",
    "console.database_url",
    "console.provider",
    "database.url",
    "guardrail.secret",
    "keyring.text",
    "mail.smtp",
    "media.s3_access_key",
    "media.s3_secret_key",
    "nats.url",
    "redis.url",
    "telemetry.otlp_headers",
];

/// What the end of a key's name says about its value.
const UNITS: [(&str, &str); 13] = [
    ("_ms", "milliseconds"),
    ("_seconds", "seconds"),
    ("_days", "days"),
    ("_mb", "units of 1,000,000 bytes"),
    ("_gb", "units of 1,000,000,000 bytes"),
    ("_bytes", "bytes"),
    ("_cents", "US cents"),
    ("_usd", "USD, as a text such as \"0.20\""),
    ("_per_minute", "a whole number, in a minute"),
    ("_per_day", "a whole number, in a day (UTC)"),
    ("_per_thousand", "a whole number, of a thousand"),
    ("trusted_proxies", "a list of networks (CIDR)"),
    ("allowed_networks", "a list of networks (CIDR)"),
];

/// A key, explained.
#[derive(Debug)]
pub(crate) struct Explanation {
    pub(crate) key: String,
    pub(crate) meaning: String,
    pub(crate) unit: &'static str,
    pub(crate) default: Value,
    /// None for a secret.
    pub(crate) value: Option<Value>,
    /// Whether it has a value at all; an empty one is none.
    pub(crate) is_set: bool,
    /// Where the value came from.
    pub(crate) from: String,
    /// The environment variable that sets it.
    pub(crate) variable: String,
}

/// Every key with its value in force; secrets are hidden.
pub(super) fn view(layers: &Layers) -> Vec<(String, String)> {
    let value_of = |key: &String| match layers.value_of(key) {
        None => String::new(),
        Some(value) if is_empty(value) => String::new(),
        Some(_) if SECRETS.contains(&key.as_str()) => "[hidden]".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let keys = layers.keys().into_iter();
    keys.map(|key| {
        let value = value_of(&key);
        (key, value)
    })
    .collect()
}

/// Explains a key with the value that this file and environment give it. A configuration with other mistakes
/// is explained too, as long as it can be read.
pub(crate) fn explain(
    key: &str,
    file: Option<&Path>,
    environment: &[(String, String)],
) -> anyhow::Result<Explanation> {
    let layers = Layers::read(file, environment).map_err(ConfigError)?;
    let defaults = Layers::defaults().map_err(|finding| ConfigError(vec![finding]))?;
    let values = layers.value_of(key).zip(defaults.value_of(key));
    let Some(((value, default), meaning)) = values.zip(meaning(key)) else {
        anyhow::bail!("{key}: {}", layers.unknown(key));
    };
    Ok(Explanation {
        key: key.to_owned(),
        meaning,
        unit: unit(key, value),
        default: default.clone(),
        value: (!SECRETS.contains(&key)).then(|| value.clone()),
        is_set: !is_empty(value),
        from: layers.origin(key).to_owned(),
        variable: variable_of(key),
    })
}

/// An empty text or list means "not set".
pub(crate) fn is_empty(value: &Value) -> bool {
    value.as_str().is_some_and(str::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

fn unit(key: &str, value: &Value) -> &'static str {
    let by_name = UNITS.iter().find(|(end, _)| key.ends_with(end));
    by_name.map_or_else(|| words(value), |(_, unit)| *unit)
}

/// The comment above a key.
fn meaning(key: &str) -> Option<String> {
    let mut section = "";
    let mut comment: Vec<&str> = Vec::new();
    // Whether the comment belongs to a key already, so that the next line of one begins another.
    let mut is_used = false;
    for line in DEFAULTS.lines() {
        if let Some(text) = line.strip_prefix('#') {
            if is_used {
                comment.clear();
            }
            is_used = false;
            comment.push(text.strip_prefix(' ').unwrap_or(text));
        } else if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            comment.clear();
        } else if let Some((name, _)) = line.split_once(" = ") {
            is_used = true;
            if key.split_once('.') == Some((section, name)) {
                return (!comment.is_empty()).then(|| comment.join("\n"));
            }
        } else {
            comment.clear();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Vec<String> {
        Layers::read(Some(Path::new("/dev/null")), &[])
            .unwrap()
            .keys()
    }

    #[test]
    fn an_operator_can_have_every_key_explained() {
        for key in keys() {
            let explained = explain(&key, Some(Path::new("/dev/null")), &[]);
            let explained = explained.unwrap_or_else(|error| panic!("{key}: {error}"));
            assert!(explained.meaning.len() > 10, "{key}: {explained:?}");
            assert_eq!(explained.from, "defaults");
            assert!(
                !explained.meaning.contains("Trunkline's configuration"),
                "{key}"
            );
        }
    }

    #[test]
    fn the_keys_that_are_never_printed_are_those_with_the_type_of_a_secret() {
        const CANARY: &str = "canary-0123456789";
        for key in keys() {
            let environment = [(variable_of(&key), CANARY.to_owned())];
            let Ok(layers) = Layers::read(Some(Path::new("/dev/null")), &environment) else {
                continue; // A number.
            };
            // Tables of providers have a type of their own, and are secret as a whole.
            let Ok(raw) = layers.raw() else {
                assert_eq!(key, "console.provider");
                continue;
            };
            let is_hidden = !format!("{raw:?}").contains(CANARY);
            assert_eq!(is_hidden, SECRETS.contains(&key.as_str()), "{key}");
        }
        let known = keys();
        assert!(SECRETS.iter().all(|key| known.iter().any(|one| one == key)));
    }

    #[test]
    fn keys_share_a_comment_only_where_they_follow_each_other() {
        let of = |key: &str| meaning(key).unwrap();
        assert_eq!(of("edge.tls_key"), of("edge.tls_certificate"));
        assert!(of("database.url_file").starts_with("Or a file"));
        assert_ne!(of("media.s3_secret_key"), of("media.s3_path_style"));
        assert_eq!(meaning("edge.absent"), None);
        assert_eq!(meaning("edge"), None);
    }
}
