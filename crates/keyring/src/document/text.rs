//! The two spellings of a document: TOML for a file, one line for an environment variable.
//!
//! Nothing of the text may reach an error: it is all secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use trunkline_types::{Secret, SecretBytes, Timestamp};

use super::{Document, RootKey, moment_of_seconds};
use crate::bounds::MAX_DOCUMENT_BYTES;
use crate::{DocumentError, GenerationId};

const VERSION: u32 = 1;
const LINE_START: &str = "v1:";
const TOML_START: &str = "\
# Keyring of Trunkline: the root keys that everything sealed in the database depends on.
# Keep a copy where the database's copies are not. Change keys with: trunkline keyring rotate
";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlDocument {
    /// Looked at by [`TomlVersion`]; named here so that it is no unknown field.
    #[serde(rename = "version")]
    _version: u32,
    current: TomlRootKey,
    previous: Option<TomlRootKey>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlRootKey {
    generation: u16,
    created_at: Option<i64>,
    key: Secret,
}

/// Read before the rest, so that a later release's document is told by its version.
#[derive(Deserialize)]
struct TomlVersion {
    version: u32,
}

// === impl Document ===

impl Document {
    /// Reads either spelling; blanks around it do not matter.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(DocumentError::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|error| DocumentError::Toml {
            line: line_at(bytes, error.valid_up_to()),
        })?;
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(DocumentError::Empty);
        }
        match trimmed.strip_prefix(LINE_START) {
            Some(generations) => Self::from_line(generations),
            None => Self::from_toml(text),
        }
    }

    /// The TOML form, for a file.
    #[must_use]
    pub fn to_toml(&self) -> Secret {
        // Reserved whole, so that no growing leaves a copy of a key behind.
        let mut text = String::with_capacity(MAX_DOCUMENT_BYTES);
        text.push_str(TOML_START);
        text.push_str(&format!("version = {VERSION}\n"));
        append_table(&mut text, "current", &self.current);
        if let Some(previous) = &self.previous {
            append_table(&mut text, "previous", previous);
        }
        Secret::new(text)
    }

    /// The one-line form, for an environment variable: `v1:<generation>:<key>`, and
    /// `,<generation>:<key>` for the previous generation. It does not keep when they were made.
    #[must_use]
    pub fn to_line(&self) -> Secret {
        let mut text = String::with_capacity(MAX_DOCUMENT_BYTES);
        text.push_str(LINE_START);
        append_pair(&mut text, &self.current);
        if let Some(previous) = &self.previous {
            text.push(',');
            append_pair(&mut text, previous);
        }
        Secret::new(text)
    }

    fn from_line(generations: &str) -> Result<Self, DocumentError> {
        let (current, previous) = match generations.split_once(',') {
            Some((current, previous)) => (current, Some(root_key_of_pair(previous)?)),
            None => (generations, None),
        };
        Self::checked(root_key_of_pair(current)?, previous)
    }

    fn from_toml(text: &str) -> Result<Self, DocumentError> {
        let head: TomlVersion = parse_toml(text)?;
        if head.version != VERSION {
            let found = head.version;
            return Err(DocumentError::Version { found });
        }
        let document: TomlDocument = parse_toml(text)?;
        let previous = match &document.previous {
            Some(root) => Some(root_key_of_table(root)?),
            None => None,
        };
        Self::checked(root_key_of_table(&document.current)?, previous)
    }
}

/// Of the parser's error only the line is kept: its message quotes the text.
fn parse_toml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, DocumentError> {
    toml::from_str(text).map_err(|error| DocumentError::Toml {
        line: line_at(text.as_bytes(), error.span().map_or(0, |span| span.start)),
    })
}

fn line_at(bytes: &[u8], position: usize) -> usize {
    let before = bytes.iter().take(position);
    before
        .filter(|byte| **byte == b'\n')
        .count()
        .saturating_add(1)
}

fn root_key_of_table(root: &TomlRootKey) -> Result<RootKey, DocumentError> {
    let created_at = root.created_at.map(moment_of_seconds);
    let id = GenerationId::new(root.generation).ok_or(DocumentError::Order)?;
    root_key(id, created_at, root.key.reveal())
}

fn root_key_of_pair(pair: &str) -> Result<RootKey, DocumentError> {
    let (number, key) = pair.split_once(':').ok_or(DocumentError::Line)?;
    let number = number.parse().map_err(|_| DocumentError::Line)?;
    let id = GenerationId::new(number).ok_or(DocumentError::Line)?;
    root_key(id, None, key)
}

fn root_key(
    id: GenerationId,
    created_at: Option<Timestamp>,
    key: &str,
) -> Result<RootKey, DocumentError> {
    let bytes = STANDARD
        .decode(key)
        .map_err(|_| DocumentError::Key { generation: id })?;
    RootKey::checked(id, created_at, SecretBytes::new(bytes))
}

fn append_table(text: &mut String, name: &str, root: &RootKey) {
    let generation = root.generation.id;
    text.push_str(&format!("\n[{name}]\ngeneration = {generation}\n"));
    if let Some(created_at) = root.generation.created_at {
        text.push_str(&format!("created_at = {}\n", created_at.seconds()));
    }
    text.push_str("key = \"");
    STANDARD.encode_string(root.key.reveal(), text);
    text.push_str("\"\n");
}

fn append_pair(text: &mut String, root: &RootKey) {
    text.push_str(&format!("{}:", root.generation.id));
    STANDARD.encode_string(root.key.reveal(), text);
}
