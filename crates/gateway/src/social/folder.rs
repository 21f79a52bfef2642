//! The operator's own platform files: read again when one of them has changed.

use std::path::Path;
use std::time::SystemTime;

use trunkline_social::{Cells, CellsError, MAX_CELL_FILE_BYTES, MAX_PLATFORMS};

use crate::gateway::Gateway;

/// What a folder looked like: names, sizes and times.
pub(crate) type Look = Vec<(String, u64, Option<SystemTime>)>;

impl Gateway {
    /// Takes over changed files; a bad one is told once and everything stays as it was.
    pub(crate) async fn follow_cells(&self) {
        let Some(folder) = self.inner.settings.social.cells.clone() else {
            return;
        };
        let before = self.inner.cells_seen.get();
        let read = tokio::task::spawn_blocking(move || changed(&folder, &before)).await;
        let (seen, cells) = match read {
            Ok(Some(changed)) => changed,
            Ok(None) | Err(_) => return,
        };
        self.inner.cells_seen.set(seen);
        match cells {
            Ok(cells) => {
                let counter = &self.inner.counter;
                counter.change(|counter| counter.with_cells(cells));
                tracing::info!("the files of social platforms were read again");
            }
            Err(error) => tracing::error!(%error, "a file of a social platform is not used"),
        }
    }
}

/// The built-in cells with those of a folder, if the folder has changed.
fn changed(folder: &Path, before: &Look) -> Option<(Look, Result<Cells, CellsError>)> {
    let seen = look(folder);
    if seen == *before {
        return None;
    }
    let cells = read(folder, &seen);
    Some((seen, cells))
}

fn look(folder: &Path) -> Look {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut seen: Look = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let name = name.strip_suffix(".toml")?.to_owned();
            let about = entry.metadata().ok()?;
            Some((name, about.len(), about.modified().ok()))
        })
        .take(MAX_PLATFORMS)
        .collect();
    seen.sort();
    seen
}

fn read(folder: &Path, seen: &Look) -> Result<Cells, CellsError> {
    let mut cells = Cells::builtin()?;
    for (name, bytes, _) in seen {
        let failed = |problem: String| CellsError {
            file: format!("{name}.toml"),
            problem,
        };
        if *bytes > MAX_CELL_FILE_BYTES {
            return Err(failed(format!("longer than {MAX_CELL_FILE_BYTES} bytes")));
        }
        let path = folder.join(format!("{name}.toml"));
        #[expect(
            clippy::disallowed_methods,
            reason = "on a thread of its own, and bounded above"
        )]
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        cells.add(name, &text)?;
    }
    Ok(cells)
}
