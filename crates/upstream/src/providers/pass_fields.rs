//! Fields that a provider gets although no list of their format has them: those of its own file, and those that the
//! operator adds in `fields/NAME.toml` of the providers' folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{Provider, ProvidersError, read};

/// By format, or by pass-through endpoint: paths as `messages[].foo` or `tools[].type=foo`.
pub type PassFields = BTreeMap<String, Vec<String>>;

/// What has a list of fields.
pub const FIELD_LISTS: [&str; 8] = [
    "openai_chat",
    "claude_messages",
    "openai_responses",
    "gemini",
    "embeddings",
    "rerank",
    "moderations",
    "completions",
];
/// Below the providers' folder.
const FOLDER: &str = "fields";
/// Fields of one list at most, and characters of one.
const MAX_FIELDS: usize = 200;
const MAX_CHARACTERS: usize = 200;

// === impl Provider ===

impl Provider {
    /// What it gets beside the list of a format or of a pass-through endpoint.
    #[must_use]
    pub fn passed_fields(&self, list: &str) -> &[String] {
        self.pass_fields.get(list).map_or(&[], Vec::as_slice)
    }
}

/// Reads the lists of a table, or says which key is wrong and why.
pub(super) fn lists(table: &Table) -> Result<PassFields, (String, String)> {
    let mut lists = PassFields::new();
    for (list, value) in table {
        let wrong = |problem: String| Err((list.clone(), problem));
        if !FIELD_LISTS.contains(&list.as_str()) {
            return wrong(format!(
                "has no list of fields; there are {}",
                FIELD_LISTS.join(", ")
            ));
        }
        let fields = value.as_array();
        let fields: Option<Vec<String>> = fields.and_then(|fields| {
            let texts = fields
                .iter()
                .map(|field| field.as_str().map(ToOwned::to_owned));
            texts.collect()
        });
        match fields {
            Some(fields) if fields.len() > MAX_FIELDS => {
                return wrong(format!("has more than {MAX_FIELDS} fields"));
            }
            Some(fields) if fields.iter().all(|field| is_path(field)) => {
                lists.insert(list.clone(), fields);
            }
            Some(_) | None => {
                let problem = "must be a list of paths such as \"foo\", \"messages[].foo\" or \
                               \"tools[].type=foo\"";
                return wrong(problem.to_owned());
            }
        }
    }
    Ok(lists)
}

/// Whether a text is the path of a field.
fn is_path(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'\\,;".contains(&byte);
    !text.is_empty() && text.len() <= MAX_CHARACTERS && text.bytes().all(is_plain)
}

/// The operator's additions, by the names of their providers. No folder has none.
pub(super) fn of_folder(folder: &Path) -> Result<BTreeMap<String, PassFields>, ProvidersError> {
    let folder = folder.join(FOLDER);
    if !folder.is_dir() {
        return Ok(BTreeMap::new());
    }
    let mut all = BTreeMap::new();
    for (name, path) in read::files(&folder)? {
        all.insert(name, of_file(&path)?);
    }
    Ok(all)
}

fn of_file(path: &Path) -> Result<PassFields, ProvidersError> {
    let file = path.display().to_string();
    let table = read::table(&file, &read::text(path)?)?;
    lists(&table).map_err(|(key, problem)| ProvidersError::Key { file, key, problem })
}

/// Lets a provider have a field of a list. Returns the file that says so now. Blocks while it writes.
pub fn pass_field(
    folder: &Path,
    provider: &str,
    list: &str,
    field: &str,
) -> Result<PathBuf, ProvidersError> {
    change(folder, provider, list, |fields| {
        if !fields.iter().any(|known| known == field) {
            fields.push(field.to_owned());
        }
    })
}

/// Takes back what [`pass_field`] let through.
pub fn drop_field(
    folder: &Path,
    provider: &str,
    list: &str,
    field: &str,
) -> Result<PathBuf, ProvidersError> {
    change(folder, provider, list, |fields| {
        fields.retain(|known| known != field)
    })
}

fn change(
    folder: &Path,
    provider: &str,
    list: &str,
    edit: impl FnOnce(&mut Vec<String>),
) -> Result<PathBuf, ProvidersError> {
    let folder = folder.join(FOLDER);
    let path = folder.join(format!("{provider}.toml"));
    let mut fields = if path.exists() {
        of_file(&path)?
    } else {
        PassFields::new()
    };
    let of_list = fields.entry(list.to_owned()).or_default();
    edit(of_list);
    of_list.sort();
    fields.retain(|_, fields| !fields.is_empty());
    let table: Table = fields
        .into_iter()
        .map(|(list, fields)| (list, Value::from(fields)))
        .collect();
    let file = path.display().to_string();
    let wrong = |(key, problem)| ProvidersError::Key {
        file: file.clone(),
        key,
        problem,
    };
    lists(&table).map_err(wrong)?;
    let unwritable = |error: std::io::Error| ProvidersError::Unreadable {
        file: file.clone(),
        reason: error.to_string(),
    };
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(unwritable(error)),
        Ok(()) | Err(_) => {}
    }
    // A node reads either the old file or the new one.
    let new = path.with_extension("new");
    fs::write(&new, table.to_string()).map_err(unwritable)?;
    fs::rename(&new, &path).map_err(unwritable)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Providers;

    #[test]
    fn a_field_that_an_operator_passes_is_read_again_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let before = Providers::with_folder(folder.path()).unwrap();
        assert_eq!(
            before.get("openai").unwrap().passed_fields("openai_chat"),
            [] as [&str; 0]
        );
        assert!(before.reread().is_none(), "nothing has changed");
        for field in ["messages[].foo", "bar", "bar"] {
            pass_field(folder.path(), "openai", "openai_chat", field).unwrap();
        }
        let (after, error) = before.reread().unwrap();
        assert_eq!(error, None);
        let openai = after.get("openai").unwrap();
        assert_eq!(
            openai.passed_fields("openai_chat"),
            ["bar", "messages[].foo"]
        );
        assert!(after.reread().is_none());
        drop_field(folder.path(), "openai", "openai_chat", "bar").unwrap();
        let (last, _) = after.reread().unwrap();
        assert_eq!(
            last.get("openai").unwrap().passed_fields("openai_chat"),
            ["messages[].foo"]
        );
    }

    #[test]
    fn a_wrong_file_changes_nothing_and_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let before = Providers::with_folder(folder.path()).unwrap();
        pass_field(folder.path(), "absent", "gemini", "foo").unwrap();
        let (same, error) = before.reread().unwrap();
        let error = error.unwrap().to_string();
        assert!(error.contains("absent is not a provider"), "{error}");
        assert_eq!(same.get("openai"), before.get("openai"));
        assert!(same.reread().is_none());
        for (list, field) in [("openai_video", "foo"), ("gemini", ""), ("gemini", "a b")] {
            let error = pass_field(folder.path(), "google", list, field).unwrap_err();
            assert!(error.to_string().contains(list), "{error}");
        }
    }
}
