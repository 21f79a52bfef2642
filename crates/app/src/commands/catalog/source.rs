//! Catalogs in files.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use trunkline_catalog::{Book, Document, MAX_BOOK_BYTES};
use trunkline_gateway::Change;

use crate::cli::Source;
use crate::files::read_bounded;
use crate::social::starter;

/// Most files of one catalog.
const MAX_FILES: usize = 10_000;

/// A catalog to be looked at, and what to call it.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) document: Document,
}

/// The catalog of files, or the starter catalog if there is none.
pub(super) fn files_or_starter(files: &[PathBuf]) -> anyhow::Result<Named> {
    if files.is_empty() {
        return Ok(Named {
            name: "the starter catalog".to_owned(),
            document: starter()?,
        });
    }
    let names: Vec<String> = files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Ok(Named {
        name: names.join(", "),
        document: read_files(files)?,
    })
}

/// Reads a catalog; nothing in it is checked yet.
pub(super) fn read(source: &Source) -> anyhow::Result<Document> {
    if source.starter {
        return starter();
    }
    read_files(&source.files)
}

fn read_files(named: &[PathBuf]) -> anyhow::Result<Document> {
    let mut whole = Document::default();
    for path in files(named)? {
        let most = u64::try_from(MAX_BOOK_BYTES).unwrap_or(u64::MAX);
        let displayed = path.display();
        let text = read_bounded(&path, most).with_context(|| format!("cannot read {displayed}"))?;
        let part = Document::from_toml(&text)
            .map_err(anyhow::Error::msg)
            .with_context(|| format!("{displayed} is not a catalog"))?;
        if let Err(twice) = whole.merge(part) {
            bail!("{displayed} contradicts another file: {}", twice.join(", "));
        }
    }
    Ok(whole)
}

/// What leads from the catalog that is there to what files say.
pub(super) fn change(document: Document, before: &Book, replace: bool) -> Change {
    if replace {
        return Change::to(document, before);
    }
    Change::adding(document, before)
}

/// The files themselves, sorted, so that a folder reads the same everywhere.
fn files(named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in named {
        if path.is_dir() {
            all.extend(in_folder(path)?);
        } else {
            all.push(path.clone());
        }
    }
    if all.is_empty() {
        bail!("there is no .toml file to read");
    }
    if all.len() > MAX_FILES {
        bail!("more than {MAX_FILES} files");
    }
    Ok(all)
}

fn in_folder(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder);
    for entry in entries.with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
