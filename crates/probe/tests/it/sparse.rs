//! A file of any size that is never stored: a beginning, and then the same bytes for ever.

use std::io::{Read, Result, Seek, SeekFrom};

/// The file, and how much of it was read.
pub(crate) struct Sparse {
    pub(crate) head: Vec<u8>,
    pub(crate) repeated: Vec<u8>,
    pub(crate) bytes: u64,
    pub(crate) at: u64,
    pub(crate) read: u64,
}

impl Sparse {
    pub(crate) fn new(head: &[u8], repeated: &[u8]) -> Self {
        // Long enough to be copied in large parts, and a whole number of repeats.
        let repeats = 65_536 / repeated.len() + 1;
        Self {
            head: head.to_vec(),
            repeated: repeated.repeat(repeats),
            bytes: 2 << 30,
            at: 0,
            read: 0,
        }
    }
}

impl Read for Sparse {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let left = usize::try_from(self.bytes.saturating_sub(self.at)).expect("a size");
        let at = usize::try_from(self.at).expect("a place");
        let from = match self.head.get(at..) {
            Some(head) if !head.is_empty() => head,
            _ => &self.repeated[(at - self.head.len()) % self.repeated.len()..],
        };
        let count = buffer.len().min(left).min(from.len());
        buffer[..count].copy_from_slice(&from[..count]);
        self.at += u64::try_from(count).expect("a count");
        self.read += u64::try_from(count).expect("a count");
        Ok(count)
    }
}

impl Seek for Sparse {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.checked_add_signed(by).expect("a place"),
            SeekFrom::End(by) => self.bytes.checked_add_signed(by).expect("a place"),
        };
        Ok(self.at)
    }
}
