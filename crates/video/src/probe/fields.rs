//! Numbers out of bytes, one after the other. Bytes that are not there are a broken file.

use super::Reason;

/// What is left to read of a box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn skip(&mut self, count: usize) -> Result<(), Reason> {
        self.0 = self.0.get(count..).ok_or(Reason::Malformed)?;
        Ok(())
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Reason> {
        let (first, rest) = self.0.split_first_chunk().ok_or(Reason::Malformed)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Reason> {
        Ok(u8::from_be_bytes(self.bytes()?))
    }

    pub(super) fn u16(&mut self) -> Result<u16, Reason> {
        Ok(u16::from_be_bytes(self.bytes()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, Reason> {
        Ok(u32::from_be_bytes(self.bytes()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Reason> {
        Ok(u64::from_be_bytes(self.bytes()?))
    }

    pub(super) fn i32(&mut self) -> Result<i32, Reason> {
        Ok(i32::from_be_bytes(self.bytes()?))
    }

    /// A number that is 64 bits wide in version 1 of a box, and 32 in version 0.
    pub(super) fn by_version(&mut self, version: u8) -> Result<u64, Reason> {
        if version == 1 {
            self.u64()
        } else {
            self.u32().map(u64::from)
        }
    }

    /// Version and flags, which begin many boxes.
    pub(super) fn version(&mut self) -> Result<(u8, u32), Reason> {
        let [version, first, second, third] = self.bytes()?;
        Ok((version, u32::from_be_bytes([0, first, second, third])))
    }
}
