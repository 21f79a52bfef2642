//! The catalog that comes with Trunkline: reviewed files of `starter/`, one for each vendor. A
//! beginning, not the truth: an operator imports it and changes it.

use trunkline_types::file_instead;

use crate::document::Document;

/// The files, by their names without the ending.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/starter.rs"));

/// What is wrong with a file of the starter catalog. A test excludes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StarterError {
    #[error("{file}.toml of the starter catalog: {reason}")]
    Unreadable { file: &'static str, reason: String },
    /// It says what another says too, and differently.
    #[error("{file}.toml of the starter catalog: another file has {} too", names.join(", "))]
    Twice {
        file: &'static str,
        names: Vec<String>,
    },
}

pub fn starter() -> Result<Document, StarterError> {
    let mut whole = Document::default();
    for (file, text) in FILES.iter().copied() {
        let broken = file_instead(&format!("crates/catalog/starter/{file}.toml"));
        let part = Document::from_toml(broken.as_deref().unwrap_or(text))
            .map_err(|reason| StarterError::Unreadable { file, reason })?;
        whole
            .merge(part)
            .map_err(|names| StarterError::Twice { file, names })?;
    }
    Ok(whole)
}

/// Its files as they are written: name without the ending, and text.
pub fn starter_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().copied()
}
