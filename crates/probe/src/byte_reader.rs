//! Reads numbers from a slice, one after the other; none where the slice ends.

/// How many bytes there are, as file positions count.
pub(crate) fn count_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// The bytes that are left to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn rest(self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        Some(u8::from_be_bytes(self.bytes()?))
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.bytes()?))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.bytes()?))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.bytes()?))
    }

    pub(crate) fn i32(&mut self) -> Option<i32> {
        Some(i32::from_be_bytes(self.bytes()?))
    }

    /// Version and flags, which begin many MP4 boxes.
    pub(crate) fn version_and_flags(&mut self) -> Option<(u8, u32)> {
        let [version, flags @ ..] = self.bytes::<4>()?;
        let [high, middle, low] = flags;
        Some((version, u32::from_be_bytes([0, high, middle, low])))
    }

    /// A field that is 64 bits wide in version 1 of an MP4 box, and 32 in version 0.
    pub(crate) fn u32_or_u64(&mut self, version: u8) -> Option<u64> {
        if version == 1 {
            self.u64()
        } else {
            self.u32().map(u64::from)
        }
    }

    pub(crate) fn u16_le(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.bytes()?))
    }

    pub(crate) fn u32_le(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes()?))
    }

    pub(crate) fn u64_le(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes()?))
    }
}
