//! Files that people name: never read without a bound.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a text file of at most `most` bytes.
pub(crate) fn read_bounded(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?
        .take(most.saturating_add(1))
        .read_to_string(&mut text)?;
    if u64::try_from(read).unwrap_or(u64::MAX) > most {
        return Err(io::Error::other(format!("larger than {most} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_above_the_bound_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_bounded(&path, 5).unwrap(), "12345");
        assert!(
            read_bounded(&path, 4)
                .unwrap_err()
                .to_string()
                .contains("larger than 4 bytes")
        );
        assert!(read_bounded(&directory.path().join("none"), 4).is_err());
    }
}
