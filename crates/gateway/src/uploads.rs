//! Recordings on their way in: streamed to a file that has no name, so that neither memory nor a crash
//! keeps anything of them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use trunkline_probe::{MeasureError, Measurement, measure};

/// Bytes that are written, or read, at one go.
const PIECE_BYTES: usize = 256 << 10;

/// Bytes of uploads on the disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct UploadDiskUsage(Arc<AtomicU64>);

/// Why an upload could not be kept.
#[derive(Debug)]
pub(crate) enum UploadError {
    /// It is larger than files may be.
    TooLarge,
    /// There is no disk space for it now.
    NoCapacity,
    /// The disk says no.
    Io(io::Error),
}

pub(crate) struct Receiving {
    file: Arc<File>,
    written: u64,
    gathered: BytesMut,
    reservation: DiskReservation,
    most: u64,
}

/// An upload that is here.
#[derive(Debug)]
pub(crate) struct Upload {
    file: Arc<File>,
    bytes: u64,
    _reservation: DiskReservation,
}

/// An upload that is read from its beginning.
pub(crate) struct Reading {
    file: Arc<File>,
    at: u64,
    left: u64,
}

/// The part of the disk that an upload takes; given back with it.
#[derive(Debug)]
struct DiskReservation {
    disk: UploadDiskUsage,
    taken: u64,
    most: u64,
}

// === impl DiskReservation ===

impl DiskReservation {
    fn take(&mut self, more: u64) -> Result<(), UploadError> {
        let before = self.disk.0.fetch_add(more, Ordering::Relaxed);
        self.taken = self.taken.saturating_add(more);
        if before.saturating_add(more) > self.most {
            return Err(UploadError::NoCapacity);
        }
        Ok(())
    }
}

impl Drop for DiskReservation {
    fn drop(&mut self) {
        self.disk.0.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

// === impl Disk ===

impl UploadDiskUsage {
    /// Bytes that lie there.
    #[cfg(test)]
    fn used(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

// === impl Receiving ===

impl Receiving {
    /// A new file of at most so many bytes, on a disk that takes so many.
    pub(crate) async fn begin(
        folder: &Path,
        disk: &UploadDiskUsage,
        most: u64,
        most_on_disk: u64,
    ) -> Result<Self, UploadError> {
        let folder = folder.to_owned();
        let file = blocking(move || tempfile::tempfile_in(folder)).await?;
        let reservation = DiskReservation {
            disk: disk.clone(),
            taken: 0,
            most: most_on_disk,
        };
        Ok(Self {
            file: Arc::new(file),
            written: 0,
            gathered: BytesMut::new(),
            reservation,
            most,
        })
    }

    /// The next bytes.
    pub(crate) async fn take(&mut self, bytes: &Bytes) -> Result<(), UploadError> {
        let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if self.written.saturating_add(more) > self.most {
            return Err(UploadError::TooLarge);
        }
        self.reservation.take(more)?;
        self.written = self.written.saturating_add(more);
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= PIECE_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), UploadError> {
        let piece = self.gathered.split().freeze();
        let length = u64::try_from(piece.len()).unwrap_or(0);
        let at = self.written.saturating_sub(length);
        let file = Arc::clone(&self.file);
        blocking(move || file.write_all_at(&piece, at)).await
    }

    /// All of it is here.
    pub(crate) async fn finish(mut self) -> Result<Upload, UploadError> {
        self.flush().await?;
        Ok(Upload {
            file: self.file,
            bytes: self.written,
            _reservation: self.reservation,
        })
    }
}

// === impl Upload ===

impl Upload {
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Container, codec and length, counted by packets.
    pub(crate) async fn measure(&self) -> Result<Measurement, MeasureError> {
        let (file, bytes) = (Arc::clone(&self.file), self.bytes);
        let source = Source { file, at: 0, bytes };
        let measured = tokio::task::spawn_blocking(move || measure(source, bytes)).await;
        measured.unwrap_or(Err(MeasureError::Io))
    }

    /// From its beginning, once more.
    pub(crate) fn reading(&self) -> Reading {
        Reading {
            file: Arc::clone(&self.file),
            at: 0,
            left: self.bytes,
        }
    }
}

// === impl Reading ===

impl Reading {
    /// The next piece; none at the end.
    pub(crate) async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.left == 0 {
            return None;
        }
        let most = u64::try_from(PIECE_BYTES).unwrap_or(u64::MAX);
        let length = self.left.min(most);
        let (file, at) = (Arc::clone(&self.file), self.at);
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = vec![0; usize::try_from(length).unwrap_or(PIECE_BYTES)];
            file.read_exact_at(&mut piece, at)?;
            Ok(Bytes::from(piece))
        });
        self.at = self.at.saturating_add(length);
        self.left = self.left.saturating_sub(length);
        Some(
            read.await
                .unwrap_or_else(|_| Err(io::Error::other("the reader is gone"))),
        )
    }
}

/// A file that several may read at once, each from its own place.
struct Source {
    file: Arc<File>,
    at: u64,
    bytes: u64,
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(out, self.at)?;
        self.at = self.at.saturating_add(u64::try_from(read).unwrap_or(0));
        Ok(read)
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.bytes.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "before the beginning");
        self.at = at.ok_or_else(before)?;
        Ok(self.at)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, UploadError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.unwrap_or_else(|_| Err(io::Error::other("the writer is gone")));
    done.map_err(UploadError::Io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_upload_is_read_again_unchanged_and_releases_its_disk_space() {
        let (folder, disk) = (std::env::temp_dir(), UploadDiskUsage::default());
        let begin = |most, on_disk| Receiving::begin(&folder, &disk, most, on_disk);
        let mut receiving = begin(1_000_000, 2_000_000).await.unwrap();
        let mut sent = Vec::new();
        for number in 0_u8..=255 {
            let piece = Bytes::from(vec![number; 3_001]);
            receiving.take(&piece).await.unwrap();
            sent.extend_from_slice(&piece);
        }
        let upload = receiving.finish().await.unwrap();
        assert_eq!((upload.bytes(), disk.used()), (768_256, 768_256));
        let (mut reading, mut came) = (upload.reading(), Vec::new());
        while let Some(piece) = reading.next().await {
            came.extend_from_slice(&piece.unwrap());
        }
        assert!(came == sent);
        drop(upload);
        assert_eq!(disk.used(), 0);
        let mut receiving = begin(10, 100).await.unwrap();
        receiving
            .take(&Bytes::from_static(b"0123456789"))
            .await
            .unwrap();
        let more = receiving.take(&Bytes::from_static(b"x")).await;
        assert!(matches!(more, Err(UploadError::TooLarge)));
        let mut other = begin(200, 100).await.unwrap();
        let more = other.take(&Bytes::from(vec![0; 91])).await;
        assert!(matches!(more, Err(UploadError::NoCapacity)));
        drop((receiving, other));
        assert_eq!(disk.used(), 0);
    }
}
