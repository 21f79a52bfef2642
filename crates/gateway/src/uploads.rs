//! Recordings on their way in: streamed to a file that has no name, so that neither memory nor a crash
//! keeps anything of them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use trunkline_probe::{MeasureError, Measurement, measure};
use trunkline_types::AccountId;

/// Bytes that are written, or read, at one go.
const PIECE_BYTES: usize = 256 << 10;

/// Bytes of uploads on the disk, over all and for each account.
#[derive(Debug, Clone, Default)]
pub(crate) struct UploadDiskUsage(Arc<Mutex<DiskUsage>>);

#[derive(Debug, Default)]
struct DiskUsage {
    all: u64,
    of_accounts: HashMap<AccountId, u64>,
}

/// Bytes that an upload, the uploads of its account, and all uploads may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UploadLimits {
    pub(crate) file: u64,
    pub(crate) account: u64,
    pub(crate) all: u64,
}

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
    account: AccountId,
    taken: u64,
    most: UploadLimits,
}

// === impl DiskReservation ===

impl DiskReservation {
    fn take(&mut self, more: u64) -> Result<(), UploadError> {
        let mut usage = self.disk.lock();
        let usage = &mut *usage;
        let all = usage.all.saturating_add(more);
        let own = usage.of_accounts.entry(self.account).or_default();
        let account = own.saturating_add(more);
        if all > self.most.all || account > self.most.account {
            return Err(UploadError::NoCapacity);
        }
        *own = account;
        usage.all = all;
        self.taken = self.taken.saturating_add(more);
        Ok(())
    }
}

impl Drop for DiskReservation {
    fn drop(&mut self) {
        let mut usage = self.disk.lock();
        usage.all = usage.all.saturating_sub(self.taken);
        if let Some(own) = usage.of_accounts.get_mut(&self.account) {
            *own = own.saturating_sub(self.taken);
            if *own == 0 {
                usage.of_accounts.remove(&self.account);
            }
        }
    }
}

// === impl UploadDiskUsage ===

impl UploadDiskUsage {
    /// Bytes that lie there.
    #[cfg(test)]
    fn used(&self) -> u64 {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, DiskUsage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Receiving ===

impl Receiving {
    /// A new file of an account.
    pub(crate) async fn begin(
        folder: &Path,
        disk: &UploadDiskUsage,
        account: AccountId,
        most: UploadLimits,
    ) -> Result<Self, UploadError> {
        let folder = folder.to_owned();
        let file = blocking(move || tempfile::tempfile_in(folder)).await?;
        let reservation = DiskReservation {
            disk: disk.clone(),
            account,
            taken: 0,
            most,
        };
        Ok(Self {
            file: Arc::new(file),
            written: 0,
            gathered: BytesMut::new(),
            reservation,
        })
    }

    /// The next bytes.
    pub(crate) async fn take(&mut self, bytes: &Bytes) -> Result<(), UploadError> {
        let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if self.written.saturating_add(more) > self.reservation.most.file {
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
        let begin = |file, all| {
            let most = UploadLimits {
                file,
                account: all,
                all,
            };
            Receiving::begin(&folder, &disk, AccountId::new(1), most)
        };
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

    #[tokio::test]
    async fn one_account_cannot_fill_the_disk() {
        let (folder, disk) = (std::env::temp_dir(), UploadDiskUsage::default());
        let most = UploadLimits {
            file: 100,
            account: 120,
            all: 400,
        };
        let begin = |number| Receiving::begin(&folder, &disk, AccountId::new(number), most);
        let hundred = Bytes::from(vec![0; 100]);
        let mut first = begin(1).await.unwrap();
        first.take(&hundred).await.unwrap();
        let mut second = begin(1).await.unwrap();
        let refused = second.take(&hundred).await;
        assert!(matches!(refused, Err(UploadError::NoCapacity)));
        let mut other = begin(2).await.unwrap();
        other.take(&hundred).await.unwrap();
        drop(first);
        second.take(&hundred).await.unwrap();
        drop((second, other));
        assert_eq!(disk.used(), 0);
        assert!(disk.lock().of_accounts.is_empty());
    }
}
