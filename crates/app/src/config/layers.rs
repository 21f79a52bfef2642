//! Defaults, file and environment laid over each other, remembering where each value came from.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};
use trunkline_types::Secret;

use super::raw::RawConfig;
use super::{DEFAULT_FILE, Finding};
use crate::files;

/// What the name of an environment variable begins with.
const ENVIRONMENT_PREFIX: &str = "TRUNKLINE__";
/// Variables that every OpenTelemetry program knows, and our key of `[telemetry]` for each. Our own name wins.
const COLLECTOR_VARIABLES: [(&str, &str); 2] = [
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "otlp_endpoint"),
    ("OTEL_EXPORTER_OTLP_HEADERS", "otlp_headers"),
];
const COLLECTOR_SECTION: &str = "telemetry";
/// Secrets that may be in a file: the key with `_file` behind it names that. Those of the database, of payments and of
/// sign-in providers have keys of their own.
const IN_FILES: [&str; 7] = [
    "alarms.webhook_secret",
    "mail.smtp",
    "media.s3_access_key",
    "media.s3_secret_key",
    "nats.url",
    "redis.url",
    "telemetry.otlp_headers",
];
const MAX_SECRET_BYTES: u64 = 4_096;

/// Every key with its default and a comment.
pub(crate) const DEFAULTS: &str = include_str!("../../config.default.toml");
const MAX_CONFIG_BYTES: u64 = 1_000_000;

/// The values in force and their origins.
pub(super) struct Layers {
    values: Table,
    origins: BTreeMap<String, String>,
}

/// The process's environment, as pairs. The one place that reads it.
#[expect(
    clippy::disallowed_methods,
    reason = "this module reads the environment, once, at start"
)]
pub(crate) fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with(ENVIRONMENT_PREFIX) || collector_key(name).is_some())
        .collect()
}

/// A variable that the command line names: a secret whose name only its owner knows.
#[expect(
    clippy::disallowed_methods,
    reason = "this module reads the environment; the name comes from the operator"
)]
pub(crate) fn variable(name: &str) -> Option<Secret> {
    std::env::var(name).ok().map(Secret::new)
}

/// The environment variable that sets a key.
pub(super) fn variable_of(path: &str) -> String {
    let name = path.to_uppercase().replace('.', "__");
    format!("{ENVIRONMENT_PREFIX}{name}")
}

// === impl Layers ===

impl Layers {
    /// Without a file and an environment.
    pub(super) fn defaults() -> Result<Self, Finding> {
        let values = parse(DEFAULTS).map_err(|problem| of_file("defaults", problem))?;
        let origins = BTreeMap::new();
        Ok(Self { values, origins })
    }

    pub(super) fn read(
        file: Option<&Path>,
        environment: &[(String, String)],
    ) -> Result<Self, Vec<Finding>> {
        let mut layers = Self::defaults().map_err(|finding| vec![finding])?;
        let mut findings = Vec::new();
        match read_file(file) {
            Ok(Some((name, table))) => findings.extend(layers.lay_file(&name, table)),
            Ok(None) => {}
            Err(finding) => findings.push(finding),
        }
        for (name, value) in environment {
            if let Some(key) = collector_key(name) {
                let value = Value::String(value.clone());
                let laid = layers.lay(COLLECTOR_SECTION, key, value, name);
                findings.extend(laid.map_err(|problem| finding(key, name, problem)).err());
            }
        }
        let own = environment
            .iter()
            .filter(|(name, _)| collector_key(name).is_none());
        for (name, value) in own {
            findings.extend(layers.lay_variable(name, value).err());
        }
        if findings.is_empty() {
            Ok(layers)
        } else {
            Err(findings)
        }
    }

    /// The typed shape of the values. Types were checked against the defaults, so this cannot fail
    /// for a key that is known; if it does, the finding says so.
    pub(super) fn raw(&self) -> Result<RawConfig, Finding> {
        let raw = RawConfig::deserialize_from(self.values.clone());
        raw.map_err(|problem| of_file("configuration", problem))
    }

    /// Where a key's value came from.
    pub(super) fn origin(&self, key: &str) -> &str {
        self.origins.get(key).map_or("defaults", String::as_str)
    }

    /// Every key, as `section.key`.
    pub(super) fn keys(&self) -> Vec<String> {
        let of_section = |(section, value): (&String, &Value)| {
            let keys = value.as_table().into_iter().flat_map(Table::keys);
            keys.map(|key| format!("{section}.{key}"))
                .collect::<Vec<_>>()
        };
        self.values.iter().flat_map(of_section).collect()
    }

    fn lay_file(&mut self, name: &str, table: Table) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (section, value) in table {
            let Value::Table(keys) = value else {
                findings.push(finding(&section, name, self.unknown(&section)));
                continue;
            };
            for (key, value) in keys.clone() {
                let path = format!("{section}.{key}");
                let laid = match secret_of(&path) {
                    Some(secret) if keys.contains_key(after_dot(secret)) => {
                        Err(format!("{secret} is set too: keep one of them"))
                    }
                    Some(secret) => self.lay_secret(secret, value.as_str().unwrap_or(""), name),
                    None => self.lay(&section, &key, value, name),
                };
                findings.extend(laid.map_err(|problem| finding(&path, name, problem)).err());
            }
        }
        findings
    }

    fn lay_variable(&mut self, name: &str, text: &str) -> Result<(), Finding> {
        let path = name
            .trim_start_matches(ENVIRONMENT_PREFIX)
            .to_lowercase()
            .replace("__", ".");
        let to_finding = |problem| finding(&path, name, problem);
        if let Some(secret) = secret_of(&path) {
            return self.lay_secret(secret, text, name).map_err(to_finding);
        }
        let (section, key) = path
            .split_once('.')
            .ok_or_else(|| to_finding(self.unknown(&path)))?;
        let default = self
            .value(section, key)
            .ok_or_else(|| to_finding(self.unknown(&path)))?;
        let value = read_as(default, text).map_err(to_finding)?;
        self.lay(section, key, value, name).map_err(to_finding)
    }

    /// Lays the content of a file over a secret.
    fn lay_secret(&mut self, secret: &str, file: &str, origin: &str) -> Result<(), String> {
        if file.is_empty() {
            return Ok(());
        }
        let text = files::read_bounded(Path::new(file), MAX_SECRET_BYTES);
        let text = text.map_err(|error| format!("cannot read {file:?}: {error}"))?;
        let section = secret.split('.').next().unwrap_or(secret);
        let value = Value::String(text.trim().to_owned());
        self.lay(
            section,
            after_dot(secret),
            value,
            &format!("{file} ({origin})"),
        )
    }

    fn lay(&mut self, section: &str, key: &str, value: Value, origin: &str) -> Result<(), String> {
        let path = format!("{section}.{key}");
        let unknown = self.unknown(&path);
        let table = self.values.get_mut(section).and_then(Value::as_table_mut);
        let place = table.and_then(|table| table.get_mut(key)).ok_or(unknown)?;
        if !place.same_type(&value) {
            return Err(format!("must be {}, not {}", words(place), words(&value)));
        }
        *place = value;
        self.origins.insert(path, origin.to_owned());
        Ok(())
    }

    /// The value of `section.key`.
    pub(super) fn value_of(&self, path: &str) -> Option<&Value> {
        let (section, key) = path.split_once('.')?;
        self.value(section, key)
    }

    fn value(&self, section: &str, key: &str) -> Option<&Value> {
        self.values.get(section)?.as_table()?.get(key)
    }

    /// What to say of a key that does not exist.
    pub(super) fn unknown(&self, path: &str) -> String {
        let section = path.split('.').next().unwrap_or(path);
        let near: Vec<String> = self
            .keys()
            .into_iter()
            .filter(|key| key.starts_with(&format!("{section}.")))
            .collect();
        if near.is_empty() {
            let sections: Vec<&String> = self.values.keys().collect();
            return format!("unknown key; the sections are {sections:?}");
        }
        format!("unknown key; [{section}] has {}", near.join(", "))
    }
}

/// Our key of `[telemetry]` for a variable of OpenTelemetry.
fn collector_key(variable: &str) -> Option<&'static str> {
    let mut known = COLLECTOR_VARIABLES.iter();
    known
        .find(|(name, _)| *name == variable)
        .map(|(_, key)| *key)
}

/// The secret whose file a key names.
fn secret_of(path: &str) -> Option<&'static str> {
    let secret = path.strip_suffix("_file")?;
    IN_FILES.into_iter().find(|known| *known == secret)
}

fn after_dot(path: &str) -> &str {
    path.split_once('.').map_or(path, |(_, key)| key)
}

impl RawConfig {
    fn deserialize_from(values: Table) -> Result<Self, String> {
        serde::Deserialize::deserialize(values)
            .map_err(|error: toml::de::Error| error.message().to_owned())
    }
}

fn read_file(file: Option<&Path>) -> Result<Option<(String, Table)>, Finding> {
    let path = file.unwrap_or(Path::new(DEFAULT_FILE));
    if file.is_none() && !path.exists() {
        return Ok(None);
    }
    let name = path.display().to_string();
    let text = files::read_bounded(path, MAX_CONFIG_BYTES)
        .map_err(|error| of_file(&name, error.to_string()))?;
    let table = parse(&text).map_err(|problem| of_file(&name, problem))?;
    Ok(Some((name, table)))
}

/// Only the place of a mistake is repeated, never the line: it may hold a password.
fn parse(text: &str) -> Result<Table, String> {
    text.parse::<Table>().map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text
            .bytes()
            .take(start)
            .filter(|byte| *byte == b'\n')
            .count()
            .saturating_add(1);
        format!("line {line} is not TOML: {}", error.message())
    })
}

fn read_as(default: &Value, text: &str) -> Result<Value, String> {
    match default {
        Value::String(_) => Ok(Value::String(text.to_owned())),
        Value::Integer(_) => text
            .parse()
            .map(Value::Integer)
            .map_err(|_| "must be a whole number".to_owned()),
        Value::Boolean(_) => text
            .parse()
            .map(Value::Boolean)
            .map_err(|_| "must be true or false".to_owned()),
        Value::Array(_) => {
            let parts = text
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty());
            Ok(Value::Array(
                parts.map(|part| Value::String(part.to_owned())).collect(),
            ))
        }
        Value::Float(_) | Value::Datetime(_) | Value::Table(_) => {
            Err("cannot be set by the environment".to_owned())
        }
    }
}

/// The kind of a value.
pub(super) fn words(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) => "a whole number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => "a list of texts",
        Value::Float(_) => "a fraction",
        Value::Datetime(_) => "a date",
        Value::Table(_) => "a section",
    }
}

fn finding(key: &str, from: &str, problem: String) -> Finding {
    Finding {
        key: key.to_owned(),
        from: from.to_owned(),
        problem,
    }
}

fn of_file(name: &str, problem: String) -> Finding {
    finding("file", name, problem)
}
