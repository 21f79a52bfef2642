//! Owner and permissions of the keyring file: the only place that knows the operating system.
//!
//! Elsewhere than on Unix there are no mode bits to look at; the folder's rights must do.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Bits that let other users than the owner in.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

/// Creates a file that only its owner can reach; fails if it exists.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The permission bits, if they let others in.
#[cfg(unix)]
pub(super) fn exposed_mode(metadata: &Metadata) -> Option<u32> {
    let mode = std::os::unix::fs::MetadataExt::mode(metadata) & 0o7777;
    (mode & OTHERS != 0).then_some(mode)
}

/// Gives a file the owner that another one has.
#[cfg(unix)]
pub(super) fn keep(file: &File, like: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let now = file.metadata()?;
    if (now.uid(), now.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(like.uid()), Some(like.gid()))
}

/// Makes a rename in the folder of `path` last through a power cut.
#[cfg(unix)]
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub(super) fn exposed_mode(_metadata: &Metadata) -> Option<u32> {
    None
}

#[cfg(not(unix))]
pub(super) fn keep(_file: &File, _like: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}
