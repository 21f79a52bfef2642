//! Parses a provider file into a [`Provider`], key by key, so that an error names its key.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{
    Addressing, AnswerRow, Auth, Format, Look, MAX_PROVIDER_BYTES, MAX_PROVIDERS, PassFields,
    Proof, Provider, ProvidersError, Quirk, answers, pass_fields,
};

const KEYS: [&str; 15] = [
    "name",
    "proof",
    "base_url",
    "auth",
    "addressing",
    "api_version",
    "formats",
    "quirks",
    "aggregate_stream",
    "pass_fields",
    "answers",
    "connect_ms",
    "first_byte_ms",
    "idle_ms",
    "total_ms",
];
/// Longest time that can be set, one day.
const MAX_MS: i64 = 86_400_000;
/// Longest name and longest value.
const MAX_CHARACTERS: usize = 128;
const MAX_BASE_URL_CHARACTERS: usize = 500;
/// Characters of a wrong value that are shown back.
const SHOWN_CHARACTERS: usize = 40;

struct Reading<'a> {
    file: &'a str,
    table: Table,
}

/// The `.toml` files of a folder, by the names of their providers.
pub(super) fn files(folder: &Path) -> Result<BTreeMap<String, PathBuf>, ProvidersError> {
    let unreadable = |error: std::io::Error| ProvidersError::Unreadable {
        file: folder.display().to_string(),
        reason: error.to_string(),
    };
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_toml = path
            .extension()
            .is_some_and(|extension| extension == "toml");
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            continue;
        };
        if !is_toml {
            continue;
        }
        found.insert(name.to_owned(), path);
        if found.len() > MAX_PROVIDERS {
            let folder = folder.display().to_string();
            return Err(ProvidersError::TooMany { folder });
        }
    }
    Ok(found)
}

/// What the files of a folder look like, those of fields included.
pub(super) fn look(folder: &Path) -> Result<Look, ProvidersError> {
    let mut seen = Look::new();
    for (below, folder) in [("", folder.to_owned()), ("fields/", folder.join("fields"))] {
        if !below.is_empty() && !folder.is_dir() {
            continue;
        }
        for (name, path) in files(&folder)? {
            let about = fs::metadata(&path).map_err(|error| ProvidersError::Unreadable {
                file: path.display().to_string(),
                reason: error.to_string(),
            })?;
            seen.push((format!("{below}{name}"), about.len(), about.modified().ok()));
        }
    }
    Ok(seen)
}

pub(super) fn file(name: &str, path: &Path) -> Result<Provider, ProvidersError> {
    provider(&path.display().to_string(), name, &text(path)?)
}

/// A whole file that is not too long.
pub(super) fn text(path: &Path) -> Result<String, ProvidersError> {
    let unreadable = |reason: String| ProvidersError::Unreadable {
        file: path.display().to_string(),
        reason,
    };
    let mut text = String::new();
    let opened = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let read = opened
        .take(MAX_PROVIDER_BYTES.saturating_add(1))
        .read_to_string(&mut text)
        .map_err(|error| unreadable(error.to_string()))?;
    if u64::try_from(read).unwrap_or(u64::MAX) > MAX_PROVIDER_BYTES {
        return Err(unreadable(format!(
            "larger than {MAX_PROVIDER_BYTES} bytes"
        )));
    }
    Ok(text)
}

pub(super) fn table(file: &str, text: &str) -> Result<Table, ProvidersError> {
    text.parse::<Table>().map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.bytes().take(start);
        ProvidersError::NotToml {
            file: file.to_owned(),
            line: before
                .filter(|byte| *byte == b'\n')
                .count()
                .saturating_add(1),
            reason: error.message().to_owned(),
        }
    })
}

/// Parses a provider; the file's name is for errors.
pub(super) fn provider(file: &str, name: &str, text: &str) -> Result<Provider, ProvidersError> {
    let table = table(file, text)?;
    let reading = Reading { file, table };
    reading.known_keys()?;
    reading.name(name)?;
    let provider = Provider {
        name: name.to_owned(),
        proof: reading.proof()?,
        base_url: reading.base_url()?,
        auth: reading.auth()?,
        addressing: reading.addressing()?,
        formats: reading.formats()?,
        quirks: reading.quirks()?,
        aggregate_stream: reading.aggregate_stream()?,
        pass_fields: reading.pass_fields()?,
        answers: reading.answers()?,
        connect_ms: reading.milliseconds("connect_ms")?,
        first_byte_ms: reading.milliseconds("first_byte_ms")?,
        idle_ms: reading.milliseconds("idle_ms")?,
        total_ms: reading.milliseconds("total_ms")?,
    };
    for (key, ms) in [
        ("connect_ms", provider.connect_ms),
        ("first_byte_ms", provider.first_byte_ms),
        ("idle_ms", provider.idle_ms),
    ] {
        if ms > provider.total_ms {
            return Err(reading.wrong(key, "must not be above total_ms, or it never counts"));
        }
    }
    Ok(provider)
}

// === impl Reading ===

impl Reading<'_> {
    fn wrong(&self, key: &str, problem: impl Into<String>) -> ProvidersError {
        ProvidersError::Key {
            file: self.file.to_owned(),
            key: cut(key),
            problem: problem.into(),
        }
    }

    fn known_keys(&self) -> Result<(), ProvidersError> {
        let unknown = self.table.keys().find(|key| !KEYS.contains(&key.as_str()));
        unknown.map_or(Ok(()), |key| {
            let problem = format!("is not a key; a provider has {}", KEYS.join(", "));
            Err(self.wrong(key, problem))
        })
    }

    fn value(&self, key: &str) -> Result<&Value, ProvidersError> {
        let value = self.table.get(key);
        value.ok_or_else(|| self.wrong(key, "is missing"))
    }

    fn text(&self, key: &str) -> Result<&str, ProvidersError> {
        let text = self.value(key)?.as_str();
        text.ok_or_else(|| self.wrong(key, "must be a text"))
    }

    fn texts(&self, key: &str) -> Result<Vec<&str>, ProvidersError> {
        let list = self.value(key)?.as_array();
        let texts = list.and_then(|list| list.iter().map(Value::as_str).collect());
        texts.ok_or_else(|| self.wrong(key, "must be a list of texts"))
    }

    fn milliseconds(&self, key: &str) -> Result<u64, ProvidersError> {
        let number = self.value(key)?.as_integer();
        let legal = number.filter(|ms| (1..=MAX_MS).contains(ms));
        let legal = legal.and_then(|ms| u64::try_from(ms).ok());
        legal.ok_or_else(|| self.wrong(key, format!("must be a whole number from 1 to {MAX_MS}")))
    }

    fn name(&self, of_file: &str) -> Result<(), ProvidersError> {
        let name = self.text("name")?;
        let plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > MAX_CHARACTERS || !name.bytes().all(plain) {
            let problem = format!("must have 1 to {MAX_CHARACTERS} of a-z 0-9 - _ .");
            return Err(self.wrong("name", problem));
        }
        if name != of_file {
            let problem = format!("must be {:?}, as its file is called", cut(of_file));
            return Err(self.wrong("name", problem));
        }
        Ok(())
    }

    /// May be left out.
    fn proof(&self) -> Result<Option<Proof>, ProvidersError> {
        if !self.table.contains_key("proof") {
            return Ok(None);
        }
        let word = self.text("proof")?;
        let known = Proof::ALL.map(Proof::as_str);
        let proof = Proof::ALL.into_iter().find(|proof| proof.as_str() == word);
        let proof = proof.ok_or_else(|| self.unknown_word("proof", word, &known))?;
        Ok(Some(proof))
    }

    /// Empty is none: the channel sets it.
    fn base_url(&self) -> Result<Option<String>, ProvidersError> {
        let text = self.text("base_url")?;
        if text.is_empty() {
            return Ok(None);
        }
        let rest = ["https://", "http://"]
            .iter()
            .find_map(|scheme| text.strip_prefix(scheme));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:[]/%".contains(&byte);
        let legal = rest.is_some_and(|rest| {
            !rest.is_empty() && !rest.starts_with('/') && rest.bytes().all(plain)
        });
        if !legal || text.len() > MAX_BASE_URL_CHARACTERS {
            let problem = "must be empty or an address such as https://api.example.com/v1, \
                           without a user, a query or a fragment";
            return Err(self.wrong("base_url", problem));
        }
        Ok(Some(text.trim_end_matches('/').to_owned()))
    }

    fn auth(&self) -> Result<Auth, ProvidersError> {
        let text = self.text("auth")?;
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let named = |prefix: &str| {
            let name = text.strip_prefix(prefix)?;
            let fits = !name.is_empty() && name.len() <= MAX_CHARACTERS;
            (fits && name.bytes().all(token)).then(|| name.to_ascii_lowercase())
        };
        if text == "bearer" {
            return Ok(Auth::Bearer);
        }
        if text == "google_service_account" {
            return Ok(Auth::GoogleServiceAccount);
        }
        if text == "kling_token" {
            return Ok(Auth::KlingToken);
        }
        if let Some(service) = named("sigv4:") {
            return Ok(Auth::SigV4(service));
        }
        let problem = "must be \"bearer\" or \"header:NAME\", \"sigv4:SERVICE\", \
                       \"google_service_account\", \"kling_token\"";
        let header = named("header:").map(Auth::Header);
        header.ok_or_else(|| self.wrong("auth", problem))
    }

    /// May be left out; so may the version that only one of them has.
    fn addressing(&self) -> Result<Addressing, ProvidersError> {
        let has_version = self.table.contains_key("api_version");
        let word = match self.table.contains_key("addressing") {
            false => "plain",
            true => self.text("addressing")?,
        };
        let addressing = match word {
            "plain" => Addressing::Plain,
            "azure" => Addressing::Azure {
                api_version: self.api_version()?,
            },
            "bedrock" => Addressing::Bedrock,
            "vertex" => Addressing::Vertex,
            other => {
                let known = ["plain", "azure", "bedrock", "vertex"];
                return Err(self.unknown_word("addressing", other, &known));
            }
        };
        if has_version && !matches!(addressing, Addressing::Azure { .. }) {
            return Err(self.wrong("api_version", "is a key of addressing \"azure\" only"));
        }
        Ok(addressing)
    }

    /// It is put into a query.
    fn api_version(&self) -> Result<String, ProvidersError> {
        let text = self.text("api_version")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        if text.is_empty() || text.len() > MAX_CHARACTERS || !text.bytes().all(plain) {
            let problem = "must be a version such as 2024-10-21";
            return Err(self.wrong("api_version", problem));
        }
        Ok(text.to_owned())
    }

    fn formats(&self) -> Result<Vec<Format>, ProvidersError> {
        let words = self.texts("formats")?;
        let mut formats = Vec::new();
        for word in words {
            let known = Format::ALL.map(Format::as_str);
            let format = Format::ALL
                .into_iter()
                .find(|format| format.as_str() == word);
            let format = format.ok_or_else(|| self.unknown_word("formats", word, &known))?;
            if formats.contains(&format) {
                return Err(self.wrong("formats", format!("has {word:?} twice")));
            }
            formats.push(format);
        }
        if formats.is_empty() {
            return Err(self.wrong("formats", "must name at least one format"));
        }
        Ok(formats)
    }

    fn quirks(&self) -> Result<BTreeSet<Quirk>, ProvidersError> {
        let words = self.texts("quirks")?;
        let mut quirks = BTreeSet::new();
        for word in words {
            let known = Quirk::ALL.map(Quirk::as_str);
            let quirk = Quirk::ALL.into_iter().find(|quirk| quirk.as_str() == word);
            quirks.insert(quirk.ok_or_else(|| self.unknown_word("quirks", word, &known))?);
        }
        Ok(quirks)
    }

    /// May be left out. Without usage in its streams a vendor's answers are not assembled from them.
    fn aggregate_stream(&self) -> Result<bool, ProvidersError> {
        const KEY: &str = "aggregate_stream";
        if !self.table.contains_key(KEY) {
            return Ok(false);
        }
        let is_on = self.value(KEY)?.as_bool();
        let is_on = is_on.ok_or_else(|| self.wrong(KEY, "must be true or false"))?;
        if is_on && self.quirks()?.contains(&Quirk::NoStreamOptions) {
            let problem =
                "must be false beside the quirk no_stream_options: streams report no usage";
            return Err(self.wrong(KEY, problem));
        }
        Ok(is_on)
    }

    /// May be left out.
    fn pass_fields(&self) -> Result<PassFields, ProvidersError> {
        const KEY: &str = "pass_fields";
        if !self.table.contains_key(KEY) {
            return Ok(PassFields::new());
        }
        let table = self.value(KEY)?.as_table();
        let table = table.ok_or_else(|| self.wrong(KEY, "must be a table of lists"))?;
        pass_fields::lists(table)
            .map_err(|(list, problem)| self.wrong(&format!("{KEY}.{list}"), problem))
    }

    /// May be left out.
    fn answers(&self) -> Result<Vec<AnswerRow>, ProvidersError> {
        match self.table.get("answers") {
            None => Ok(Vec::new()),
            Some(value) => answers::read(value).map_err(|problem| self.wrong("answers", problem)),
        }
    }

    fn unknown_word(&self, key: &str, word: &str, known: &[&str]) -> ProvidersError {
        let problem = format!("has {:?}; there are {}", cut(word), known.join(", "));
        self.wrong(key, problem)
    }
}

fn cut(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS).collect()
}
