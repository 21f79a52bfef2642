//! The operator's own platform files: read at the start, and again when one of them has changed. What
//! cannot be read changes nothing: platforms that are sold do not vanish with a folder that is away.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use trunkline_social::{Cells, CellsError, MAX_CELL_FILE_BYTES, MAX_PLATFORMS};

use super::social_catalog::SocialCatalog;

/// What a folder looked like: names, sizes and times.
pub(super) type Look = Vec<(String, u64, Option<SystemTime>)>;

/// Why a folder of platform files is not used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder or one of its files.
    #[error("cannot read {path}: {error}")]
    Unreadable { path: String, error: io::Error },
    /// More files than there may be platforms.
    #[error("{folder} has more than {MAX_PLATFORMS} platforms")]
    TooMany { folder: String },
    /// A file whose name is no text.
    #[error("{path} has a strange name; a file is called after its platform's key")]
    StrangeName { path: String },
    /// A file that says something wrong.
    #[error(transparent)]
    Cells(#[from] CellsError),
}

/// The built-in platforms with those of the `.toml` files in a folder: a file adds a platform or
/// replaces the one of its name. Blocks while it reads.
pub fn cells_with_folder(folder: &Path) -> Result<Cells, FolderError> {
    read(folder, &look(folder)?)
}

/// Takes over changed files. What is wrong is logged once, and everything stays as it was.
pub(crate) async fn follow_files(catalog: &ArcSwap<SocialCatalog>, folder: PathBuf) {
    let before = catalog.load_full();
    let (seen, reported) = (before.seen.clone(), before.reported.as_deref());
    let Ok(news) = tokio::task::spawn_blocking(move || changed(&folder, seen)).await else {
        return;
    };
    match news {
        None if reported.is_none() => {}
        None => {
            catalog.rcu(|catalog| catalog.with_problem(catalog.seen.clone(), None));
        }
        Some((seen, Ok(cells))) => {
            catalog.rcu(|catalog| catalog.with_cells(cells.clone(), seen.clone()));
            tracing::info!("social platform files reloaded");
        }
        Some((seen, Err(error))) => {
            let problem = error.to_string();
            if reported == Some(problem.as_str()) && seen == before.seen {
                return;
            }
            tracing::error!(%error, "social platform files rejected; the old ones stay in use");
            catalog.rcu(|catalog| catalog.with_problem(seen.clone(), Some(problem.clone())));
        }
    }
}

/// None if the folder looks as before. Else how far it has been dealt with, and what came of it.
fn changed(folder: &Path, before: Look) -> Option<(Look, Result<Cells, FolderError>)> {
    let seen = match look(folder) {
        Ok(seen) if seen == before => return None,
        Ok(seen) => seen,
        Err(error) => return Some((before, Err(error))),
    };
    match read(folder, &seen) {
        // It may be readable the next time, although it looks the same.
        Err(error @ FolderError::Unreadable { .. }) => Some((before, Err(error))),
        done => Some((seen, done)),
    }
}

fn look(folder: &Path) -> Result<Look, FolderError> {
    let mut seen = Look::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable(folder))? {
        let path = entry.map_err(unreadable(folder))?.path();
        if path.extension() != Some(OsStr::new("toml")) {
            continue;
        }
        if seen.len() >= MAX_PLATFORMS {
            let folder = folder.display().to_string();
            return Err(FolderError::TooMany { folder });
        }
        let name = path.file_stem().and_then(OsStr::to_str);
        let name = name.ok_or_else(|| FolderError::StrangeName {
            path: path.display().to_string(),
        })?;
        let about = std::fs::metadata(&path).map_err(unreadable(&path))?;
        seen.push((name.to_owned(), about.len(), about.modified().ok()));
    }
    // The same message on every machine if two of them are wrong.
    seen.sort();
    Ok(seen)
}

fn read(folder: &Path, seen: &Look) -> Result<Cells, FolderError> {
    let mut cells = Cells::builtin()?;
    for (name, _, _) in seen {
        let path = folder.join(format!("{name}.toml"));
        let bytes = read_bounded(&path).map_err(unreadable(&path))?;
        let wrong = |problem: String| CellsError {
            file: format!("{name}.toml"),
            problem,
        };
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if length > MAX_CELL_FILE_BYTES {
            return Err(wrong(format!("longer than {MAX_CELL_FILE_BYTES} bytes")).into());
        }
        let text = String::from_utf8(bytes).map_err(|_| wrong("not UTF-8".to_owned()))?;
        cells.add(name, &text)?;
    }
    Ok(cells)
}

/// As much as a file may have, and one byte more.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = MAX_CELL_FILE_BYTES.saturating_add(1);
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> FolderError {
    let path = path.display().to_string();
    move |error| FolderError::Unreadable {
        path: path.clone(),
        error,
    }
}
