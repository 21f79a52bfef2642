//! A file that is read in bounded parts, and never beyond the size it is given.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use crate::MeasureError;

/// So much of a file is held at a place that is being read.
const BUFFER_BYTES: usize = 16 << 10;

/// What a source must be able to do.
pub(crate) trait Readable: Read + Seek {}

impl<R: Read + Seek> Readable for R {}

/// A file, and how long it is.
pub(crate) struct BoundedReader<'a> {
    file: &'a mut dyn Readable,
    bytes: u64,
    at: u64,
}

impl<'a> BoundedReader<'a> {
    pub(crate) fn new(file: &'a mut dyn Readable, bytes: u64) -> Result<Self, MeasureError> {
        let at = file.stream_position().map_err(|_| MeasureError::Io)?;
        Ok(Self { file, bytes, at })
    }

    /// How long the file is.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads from a place until the buffer is full or the file ends, and returns how much that was.
    pub(crate) fn read_at(&mut self, at: u64, buffer: &mut [u8]) -> Result<usize, MeasureError> {
        let left = usize::try_from(self.bytes.saturating_sub(at)).unwrap_or(usize::MAX);
        let needed = buffer.len().min(left);
        if needed == 0 {
            return Ok(0);
        }
        if self.at != at {
            self.file
                .seek(SeekFrom::Start(at))
                .map_err(|_| MeasureError::Io)?;
            self.at = at;
        }
        let mut filled = 0_usize;
        while filled < needed {
            let Some(target) = buffer.get_mut(filled..needed) else {
                break;
            };
            match self.file.read(target) {
                Ok(0) => {
                    // Shorter than its given size: it ends here.
                    self.bytes = self.at;
                    break;
                }
                Ok(count) => {
                    filled = filled.saturating_add(count);
                    let count = u64::try_from(count).unwrap_or(u64::MAX);
                    self.at = self.at.saturating_add(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(MeasureError::Io),
            }
        }
        Ok(filled)
    }
}

/// A part of a file that is held in memory, around the place that is being read.
#[derive(Debug, Default)]
pub(crate) struct ReadBuffer {
    start: u64,
    bytes: Vec<u8>,
}

impl ReadBuffer {
    /// The bytes at a place: as many as wanted, fewer where the file ends.
    pub(crate) fn at(
        &mut self,
        source: &mut BoundedReader<'_>,
        at: u64,
        needed: usize,
    ) -> Result<&[u8], MeasureError> {
        let needed = needed.min(BUFFER_BYTES);
        let is_held = self.held(at).is_some_and(|held| held.len() >= needed);
        if !is_held {
            self.bytes.resize(BUFFER_BYTES, 0);
            let count = source.read_at(at, &mut self.bytes)?;
            self.bytes.truncate(count);
            self.start = at;
        }
        let held = self.held(at).unwrap_or_default();
        Ok(held.get(..needed).unwrap_or(held))
    }

    fn held(&self, at: u64) -> Option<&[u8]> {
        let skipped = usize::try_from(at.checked_sub(self.start)?).ok()?;
        self.bytes.get(skipped..)
    }
}
