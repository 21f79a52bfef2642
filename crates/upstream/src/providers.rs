//! Providers as data: base URL, authentication, formats, quirks and deadlines. Some are built in; a file in the
//! operator's folder adds one or replaces one.
//!
//! A new provider with a known format is a new file. Only what a file cannot express is code.

mod answers;
mod body_rules;
mod format;
mod pass_fields;
mod proof;
mod read;
mod url;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use trunkline_types::{EndpointType, file_instead};

pub use self::answers::{AnswerClass, AnswerRow, Refusal};
pub use self::body_rules::BodyRules;
pub use self::format::Format;
pub use self::pass_fields::{FIELD_LISTS, PassFields, drop_field, pass_field};
pub use self::proof::Proof;
pub use self::url::{Addressing, Ask, Task, UrlError};
use crate::client::Protocol;

/// Most providers, the built-in ones included.
pub const MAX_PROVIDERS: usize = 1_000;
/// Longest file of a provider.
pub const MAX_PROVIDER_BYTES: u64 = 65_536;

/// The built-in files, by name: all that `build.rs` found in `providers/`.
const BUILTIN: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The name that channels use; its file's name.
    pub name: String,
    /// How its behaviour was proved. None: its file, which is the operator's, does not say.
    pub proof: Option<Proof>,
    /// Its base URL, without a slash at the end. None: each channel sets it.
    pub base_url: Option<String>,
    /// How it authenticates a call.
    pub auth: Auth,
    /// How it builds its paths.
    pub addressing: Addressing,
    /// Its formats, the preferred one first.
    pub formats: Vec<Format>,
    pub quirks: BTreeSet<Quirk>,
    /// Whether its streams carry all of a whole answer, usage included, so that one can be assembled from them.
    pub aggregate_stream: bool,
    /// Fields that it gets although no list of their format has them.
    pub pass_fields: PassFields,
    /// What its refusals are about, before the rows of every provider.
    pub answers: Vec<AnswerRow>,
    /// Longest time to a connection, TLS included.
    pub connect_ms: u64,
    /// Longest time from the request to the first byte of the response's body.
    pub first_byte_ms: u64,
    /// Longest time between two chunks of the response.
    pub idle_ms: u64,
    pub total_ms: u64,
}

/// How a provider authenticates a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer …`.
    Bearer,
    /// Alone in a header of this name, which is in lower case.
    Header(String),
    /// As an AWS signature (version 4) for this service.
    SigV4(String),
    /// As a bearer token that a Google service account is given for its signature.
    GoogleServiceAccount,
    /// As Kling wants it: a pair of keys signs a token for each call, an API key is a bearer.
    KlingToken,
}

/// An oddity that code knows how to meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quirk {
    /// Rejects `stream_options`, so a stream reports no usage.
    NoStreamOptions,
    /// Wants `max_tokens` instead of `max_completion_tokens`.
    MaxTokensOnly,
    /// Its reasoning models want `max_completion_tokens` instead of `max_tokens`.
    ReasoningCap,
    /// Supports HTTP/2 well, so calls with a buffered response share a connection. Streams never do.
    Http2,
}

/// All providers that are known, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Providers {
    all: BTreeMap<String, Provider>,
    /// Where the operator's files are, and what they looked like: names, sizes and times.
    folder: Option<PathBuf>,
    seen: Look,
}

/// What the files of a folder looked like.
type Look = Vec<(String, u64, Option<SystemTime>)>;

/// Why the providers cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProvidersError {
    /// A file or the folder cannot be read.
    #[error("{file}: {reason}")]
    Unreadable { file: String, reason: String },
    /// A file is not TOML.
    #[error("{file}: line {line} is not TOML: {reason}")]
    NotToml {
        file: String,
        line: usize,
        reason: String,
    },
    #[error("{file}: {key} {problem}")]
    Key {
        file: String,
        key: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// More than [`MAX_PROVIDERS`].
    #[error("{folder}: more than {MAX_PROVIDERS} providers")]
    TooMany { folder: String },
}

// === impl Providers ===

impl Providers {
    /// Those built in. An error is a mistake in our own files, which a test excludes.
    pub fn builtin() -> Result<Self, ProvidersError> {
        let mut all = BTreeMap::new();
        for (name, text) in BUILTIN {
            let broken = file_instead(&format!("crates/upstream/providers/{name}.toml"));
            let text = broken.as_deref().unwrap_or(text);
            let provider = read::provider(&format!("{name}.toml (built in)"), name, text)?;
            all.insert((*name).to_owned(), provider);
        }
        Ok(Self {
            all,
            folder: None,
            seen: Look::new(),
        })
    }

    /// Those built in, and those of the `.toml` files in a folder: a file adds a provider or replaces
    /// the one of its name. Blocks while it reads.
    pub fn with_folder(folder: &Path) -> Result<Self, ProvidersError> {
        Self::of_look(folder, read::look(folder)?)
    }

    /// The same again if a file has changed since, and why the old ones stay if the new ones are wrong.
    /// None without a folder or a change. Blocks while it reads.
    #[must_use]
    pub fn reread(&self) -> Option<(Self, Option<ProvidersError>)> {
        let folder = self.folder.as_deref()?;
        let seen = match read::look(folder) {
            Ok(seen) if seen == self.seen => return None,
            Ok(seen) => seen,
            Err(error) => {
                let seen = vec![(error.to_string(), 0, None)];
                let is_reported = seen == self.seen;
                let same = Self {
                    seen,
                    ..self.clone()
                };
                return (!is_reported).then_some((same, Some(error)));
            }
        };
        Some(match Self::of_look(folder, seen.clone()) {
            Ok(changed) => (changed, None),
            Err(error) => {
                let same = Self {
                    seen,
                    ..self.clone()
                };
                (same, Some(error))
            }
        })
    }

    fn of_look(folder: &Path, seen: Look) -> Result<Self, ProvidersError> {
        let Self { mut all, .. } = Self::builtin()?;
        for (name, path) in read::files(folder)? {
            let provider = read::file(&name, &path)?;
            all.insert(name, provider);
            if all.len() > MAX_PROVIDERS {
                let folder = folder.display().to_string();
                return Err(ProvidersError::TooMany { folder });
            }
        }
        for (name, lists) in pass_fields::of_folder(folder)? {
            let provider = all.get_mut(&name);
            let provider = provider.ok_or_else(|| ProvidersError::Key {
                file: folder.display().to_string(),
                key: name,
                problem: "is not a provider, and has a file of fields".to_owned(),
            })?;
            for (list, fields) in lists {
                provider.pass_fields.entry(list).or_default().extend(fields);
            }
        }
        Ok(Self {
            all,
            folder: Some(folder.to_owned()),
            seen,
        })
    }

    /// Where the operator's files are.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Provider> {
        self.all.get(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.keys().map(String::as_str)
    }

    /// Whether any provider can serve models of an endpoint type.
    #[must_use]
    pub fn any_serves(&self, endpoint: EndpointType) -> bool {
        self.all.values().any(|provider| provider.serves(endpoint))
    }
}

// === impl Provider ===

impl Provider {
    /// Whether it has an oddity.
    #[must_use]
    pub fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    /// What a refusal is about.
    #[must_use]
    pub fn answer_class(&self, refusal: Refusal<'_>) -> AnswerClass {
        answers::class(&self.answers, refusal)
    }

    /// The path below the base URL that lists its models: a call that costs nothing. None where there is
    /// no such path.
    #[must_use]
    pub fn models_path(&self) -> Option<String> {
        match &self.addressing {
            Addressing::Plain => Some("/models".to_owned()),
            Addressing::Azure { api_version } => {
                Some(format!("/openai/models?api-version={api_version}"))
            }
            Addressing::Bedrock | Addressing::Vertex => None,
        }
    }

    /// The HTTP version of a call.
    #[must_use]
    pub fn protocol(&self, is_streamed: bool) -> Protocol {
        if !is_streamed && self.has(Quirk::Http2) {
            Protocol::Http2
        } else {
            Protocol::Http1
        }
    }

    /// Whether it can serve models of an endpoint type.
    #[must_use]
    pub fn serves(&self, endpoint: EndpointType) -> bool {
        self.formats.iter().any(|format| format.serves(endpoint))
    }

    /// Whether it has a format.
    #[must_use]
    pub fn speaks(&self, format: Format) -> bool {
        self.formats.contains(&format)
    }
}

// === impl Auth ===

impl Auth {
    /// Its name in provider files.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Bearer => "bearer".to_owned(),
            Self::Header(name) => format!("header:{name}"),
            Self::SigV4(service) => format!("sigv4:{service}"),
            Self::GoogleServiceAccount => "google_service_account".to_owned(),
            Self::KlingToken => "kling_token".to_owned(),
        }
    }
}

// === impl Quirk ===

impl Quirk {
    pub const ALL: [Self; 4] = [
        Self::NoStreamOptions,
        Self::MaxTokensOnly,
        Self::ReasoningCap,
        Self::Http2,
    ];

    /// Its name in provider files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoStreamOptions => "no_stream_options",
            Self::MaxTokensOnly => "max_tokens_only",
            Self::ReasoningCap => "reasoning_cap",
            Self::Http2 => "http2",
        }
    }
}

#[cfg(test)]
mod tests;
