//! The lines of a file, one at a time.

use std::io::{BufRead, Read as _};

use super::{MAX_LINE_BYTES, Stop, malformed};

pub(super) struct FileLines<'a> {
    file: &'a mut dyn BufRead,
    number: u64,
    /// A line that is done with, whose memory is used for the next.
    spare: Vec<u8>,
}

// === impl FileLines ===

impl<'a> FileLines<'a> {
    pub(super) fn new(file: &'a mut dyn BufRead) -> Self {
        Self {
            file,
            number: 0,
            spare: Vec::new(),
        }
    }

    /// The number of the line that was read last, from 1.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// The next line without its end; none at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, Stop> {
        let mut line = std::mem::take(&mut self.spare);
        line.clear();
        let mut limited = (&mut *self.file).take(MAX_LINE_BYTES);
        limited.read_until(b'\n', &mut line).map_err(Stop::Read)?;
        if line.is_empty() {
            return Ok(None);
        }
        self.number = self.number.saturating_add(1);
        // Longer than a line may be, or broken off.
        if line.pop() != Some(b'\n') {
            return Err(malformed(self.number));
        }
        Ok(Some(line))
    }

    /// The same where the file cannot be over yet.
    pub(super) fn required(&mut self) -> Result<Vec<u8>, Stop> {
        let next = self.number.saturating_add(1);
        self.next()?.ok_or_else(|| malformed(next))
    }

    pub(super) fn keep(&mut self, line: Vec<u8>) {
        self.spare = line;
    }
}
