//! Bits out of bytes, the highest first.

/// What is left to read, by the place of the next bit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// So many bits as a number; at most 32.
    pub(crate) fn take(&mut self, count: u32) -> Option<u32> {
        let mut value = 0_u32;
        for _ in 0..count.min(32) {
            value = value.wrapping_shl(1) | u32::from(self.bit()?);
        }
        Some(value)
    }

    pub(crate) fn bit(&mut self) -> Option<bool> {
        let byte = self.bytes.get(self.at.div_euclid(8))?;
        let mask = 0x80_u8 >> (self.at & 7);
        self.at = self.at.saturating_add(1);
        Some(byte & mask != 0)
    }
}
