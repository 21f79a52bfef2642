//! A keyring document in a file that only its owner can reach.
//!
//! Changes are written beside the file and moved over it: a crash leaves the old keyring or the new
//! one, never a half. The file beside it (`<name>.new`) is also the lock between two changes.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use trunkline_types::{SecretBytes, Timestamp};
use zeroize::Zeroizing;

use crate::{Document, MAX_DOCUMENT_BYTES, RandomSource, RootKeySource, Rotated, SourceError};

mod owner;

/// A document kept in a file.
#[derive(Debug, Clone)]
pub struct FileSource {
    path: PathBuf,
}

/// A change that is not in place yet. Dropped before that, it leaves nothing behind.
struct Change {
    target: PathBuf,
    beside: PathBuf,
    file: File,
    in_place: bool,
}

// === impl FileSource ===

impl FileSource {
    /// The file at a path; nothing is read yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Writes a first document. Refuses when the file exists.
    pub fn create(&self, document: &Document) -> Result<(), SourceError> {
        let change = Change::begin(&self.path)?;
        // Looked at under the lock, so that two who create do not overwrite each other.
        let exists =
            fs::exists(&self.path).map_err(|source| failed("look for", &self.path, source))?;
        if exists {
            let path = self.path.clone();
            return Err(SourceError::Exists { path });
        }
        change.put_in_place(document)
    }

    /// Replaces the document by a rotated one. Of two rotations at once, one is refused.
    pub fn rotate(
        &self,
        now: Timestamp,
        random: &dyn RandomSource,
    ) -> Result<Rotated, SourceError> {
        // The file itself is replaced, not a link that leads to it.
        let target =
            fs::canonicalize(&self.path).map_err(|source| failed("find", &self.path, source))?;
        let change = Change::begin(&target)?;
        let (bytes, metadata) = read_private(&target)?;
        let rotated = Document::parse(bytes.reveal())?.rotate(now, random)?;
        // Rotating as root must not take the file away from the user the service runs as.
        owner::keep(&change.file, &metadata)
            .map_err(|source| failed("keep the owner of", &target, source))?;
        change.put_in_place(&rotated.document)?;
        Ok(rotated)
    }
}

impl RootKeySource for FileSource {
    fn read(&self) -> Result<SecretBytes, SourceError> {
        let (bytes, _) = read_private(&self.path)?;
        Ok(bytes)
    }
}

// === impl Change ===

impl Change {
    fn begin(target: &Path) -> Result<Self, SourceError> {
        let name = target.file_name().ok_or_else(|| SourceError::NotAFile {
            path: target.to_path_buf(),
        })?;
        let mut beside_name = name.to_os_string();
        beside_name.push(".new");
        let beside = target.with_file_name(beside_name);
        match owner::create_private(&beside) {
            Ok(file) => Ok(Self {
                target: target.to_path_buf(),
                beside,
                file,
                in_place: false,
            }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(SourceError::Busy { path: beside })
            }
            Err(source) => Err(failed("write", &beside, source)),
        }
    }

    fn put_in_place(mut self, document: &Document) -> Result<(), SourceError> {
        let text = document.to_toml();
        self.file
            .write_all(text.reveal().as_bytes())
            .and_then(|()| self.file.sync_all())
            .map_err(|source| failed("write", &self.beside, source))?;
        fs::rename(&self.beside, &self.target)
            .map_err(|source| failed("replace", &self.target, source))?;
        self.in_place = true;
        owner::sync_folder(&self.target)
            .map_err(|source| failed("flush the folder of the replaced", &self.target, source))
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        if !self.in_place {
            // If it cannot be removed, the next change says Busy and how to mend it.
            drop(fs::remove_file(&self.beside));
        }
    }
}

fn read_private(path: &Path) -> Result<(SecretBytes, Metadata), SourceError> {
    let cannot_read = |source| failed("read", path, source);
    // Asked before opening, because opening a pipe waits for a writer.
    if !fs::metadata(path).map_err(cannot_read)?.is_file() {
        let path = path.to_path_buf();
        return Err(SourceError::NotAFile { path });
    }
    let file = File::open(path).map_err(cannot_read)?;
    let metadata = file.metadata().map_err(cannot_read)?;
    if let Some(mode) = owner::exposed_mode(&metadata) {
        let path = path.to_path_buf();
        return Err(SourceError::Exposed { path, mode });
    }
    // One byte more than is taken, so that a longer file is refused instead of cut; the buffer is
    // reserved whole, so that no growing leaves a copy of a key behind.
    let most = MAX_DOCUMENT_BYTES.saturating_add(1);
    let mut bytes = Zeroizing::new(Vec::with_capacity(most.saturating_mul(2)));
    file.take(u64::try_from(most).unwrap_or(u64::MAX))
        .read_to_end(&mut bytes)
        .map_err(cannot_read)?;
    Ok((SecretBytes::new(std::mem::take(&mut *bytes)), metadata))
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> SourceError {
    let path = path.to_path_buf();
    SourceError::Io {
        doing,
        path,
        source,
    }
}
