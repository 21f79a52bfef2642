//! The catalog that comes with Trunkline: reviewed files of `starter/`, one for each vendor. A
//! beginning, not the truth: an operator imports it and changes it.

use crate::document::Document;

/// The files, by their names without the ending.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/starter.rs"));

/// What is wrong with a file of the starter catalog. A test excludes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StarterError {
    /// It cannot be read.
    #[error("{file}.toml of the starter catalog: {reason}")]
    Unreadable {
        /// Which.
        file: &'static str,
        /// Why.
        reason: String,
    },
    /// It says what another says too, and differently.
    #[error("{file}.toml of the starter catalog: another file has {} too", names.join(", "))]
    Twice {
        /// Which.
        file: &'static str,
        /// What stands in both.
        names: Vec<String>,
    },
}

/// The whole starter catalog.
pub fn starter() -> Result<Document, StarterError> {
    let mut whole = Document::default();
    for (file, text) in FILES.iter().copied() {
        let part = Document::from_toml(text)
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
