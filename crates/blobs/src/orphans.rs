//! Removes staged files that a crash left in a directory.
//!
//! `LocalFileSystem` writes to `<name>#<number>` and renames the complete file. It never lists staged files, so it
//! cannot delete them: this is the only module that reads the directory itself. It also removes the empty folders
//! of past days.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path as FilePath;

use crate::ObjectPath;
use crate::metadata::METADATA_ENDING;
use crate::path::Day;

/// Most entries that one sweep reads. The rest is deleted with its day at the latest.
const MAX_LOOKED_AT: usize = 200_000;

/// A walk through the folders of days.
struct Walk<'a> {
    is_old: &'a dyn Fn(Day) -> bool,
    removed: Vec<ObjectPath>,
    looked_at: usize,
    most: usize,
}

/// Removes at most `most` staged files of old days; returns their objects' paths.
pub(crate) fn remove_staged(
    root: &FilePath,
    is_old: &dyn Fn(Day) -> bool,
    most: usize,
) -> io::Result<Vec<ObjectPath>> {
    let mut walk = Walk {
        is_old,
        removed: Vec::new(),
        looked_at: 0,
        most,
    };
    walk.enter(root, &[])?;
    Ok(walk.removed)
}

// === impl Walk ===

impl Walk<'_> {
    /// `above` are the names of the parent folders: day, shard, account.
    fn enter(&mut self, folder: &FilePath, above: &[String]) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            if self.looked_at >= MAX_LOOKED_AT || self.removed.len() >= self.most {
                return Ok(());
            }
            self.looked_at = self.looked_at.saturating_add(1);
            self.look_at(&entry?, above)?;
        }
        if !above.is_empty() {
            // Only an empty folder goes; that others do not is as it should be.
            drop(fs::remove_dir(folder));
        }
        Ok(())
    }

    fn look_at(&mut self, entry: &DirEntry, above: &[String]) -> io::Result<()> {
        // A name that is not UTF-8 is not ours.
        let Ok(name) = entry.file_name().into_string() else {
            return Ok(());
        };
        if let [day, shard, account] = above {
            if let Some(path) = staged(day, shard, account, &name) {
                fs::remove_file(entry.path())?;
                self.removed.push(path);
            }
            return Ok(());
        }
        let is_day_to_enter = || Day::parse(&name).is_some_and(|day| (self.is_old)(day));
        if entry.file_type()?.is_dir() && (!above.is_empty() || is_day_to_enter()) {
            let way: Vec<String> = above.iter().cloned().chain([name]).collect();
            return self.enter(&entry.path(), &way);
        }
        Ok(())
    }
}

/// The object of a staged file, if it is one.
fn staged(day: &str, shard: &str, account: &str, name: &str) -> Option<ObjectPath> {
    let (name, number) = name.split_once('#')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let name = name.strip_suffix(METADATA_ENDING).unwrap_or(name);
    let path = ObjectPath::from_parts(day, shard, account, name)?;
    is_number.then_some(path)
}
