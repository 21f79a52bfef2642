//! Vorbis: a packet names its mode, a mode says which of two block sizes it has, and two blocks that
//! follow each other make half of each in samples. The modes stand at the very end of the setup header,
//! so they are read from there backwards, without the codebooks before them.

use super::bits::Bits;
use crate::byte_reader::ByteReader;

/// So much of the end of the setup header holds all modes there can be.
pub(crate) const TAIL_BYTES: usize = 512;
/// The largest block there can be.
pub(crate) const MAX_BLOCK_SAMPLES: u64 = 8_192;
const MAX_MODES: u32 = 64;
/// A mode behind its flag: two types that are zero, and a mapping.
const TYPE_BITS: u32 = 16;
const MAPPING_BITS: u32 = 8;
const MAX_MAPPING: u32 = 63;

/// The first header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity {
    rate: u32,
    short: u64,
    long: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Vorbis {
    identity: Identity,
    /// A bit for each mode: whether its block is the long one.
    long_modes: u64,
    mode_count: u32,
    before: Option<u64>,
}

impl Identity {
    pub(crate) fn read(header: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(header.strip_prefix(b"\x01vorbis")?);
        reader.skip(5)?;
        let rate = reader.u32_le()?;
        reader.skip(12)?;
        let sizes = reader.u8()?;
        let (short, long) = (u32::from(sizes & 0x0F), u32::from(sizes >> 4));
        let are_right = rate > 0 && (6..=13).contains(&short) && (short..=13).contains(&long);
        are_right.then_some(Self {
            rate,
            short: 1_u64.checked_shl(short)?,
            long: 1_u64.checked_shl(long)?,
        })
    }
}

impl Vorbis {
    /// The first header, and the last bytes of the third.
    pub(crate) fn new(identity: Identity, setup_tail: &[u8]) -> Option<Self> {
        let (long_modes, mode_count) = modes(setup_tail)?;
        Some(Self {
            identity,
            long_modes,
            mode_count,
            before: None,
        })
    }

    pub(crate) const fn rate(&self) -> u32 {
        self.identity.rate
    }

    /// The samples that this packet completes.
    pub(crate) fn samples(&mut self, header: &[u8]) -> Option<u64> {
        let first = *header.first()?;
        if first & 1 == 1 {
            return None;
        }
        let mode_bits = u32::BITS.saturating_sub(self.mode_count.saturating_sub(1).leading_zeros());
        let mask = 1_u8.checked_shl(mode_bits)?.saturating_sub(1);
        let mode = u32::from(first.wrapping_shr(1) & mask);
        if mode >= self.mode_count {
            return None;
        }
        let is_long = self.long_modes.checked_shr(mode)? & 1 == 1;
        let block = if is_long {
            self.identity.long
        } else {
            self.identity.short
        };
        let before = self.before.replace(block);
        Some(before.map_or(0, |before| before.saturating_add(block).div_euclid(4)))
    }
}

/// The modes, from the end backwards: a bit that is set, then each mode from its last bit to its
/// first, and before the first mode the number of them.
fn modes(tail: &[u8]) -> Option<(u64, u32)> {
    let backwards: Vec<u8> = tail.iter().rev().take(TAIL_BYTES).copied().collect();
    let mut bits = Bits::new(&backwards);
    while !bits.bit()? {}
    let mut found = None;
    let mut flags = 0_u64;
    for count in 1..=MAX_MODES {
        let Some(is_long) = mode(&mut bits) else {
            break;
        };
        // What was read first is the mode with the highest number.
        flags = flags.wrapping_shl(1) | u64::from(is_long);
        let mut ahead = bits;
        if ahead.take(6).map(|fewer| fewer.saturating_add(1)) == Some(count) {
            found = Some((flags, count));
        }
    }
    // The bits were pushed so that the last one read, mode 0, stands lowest.
    found
}

fn mode(bits: &mut Bits<'_>) -> Option<bool> {
    let is_mapping = bits.take(MAPPING_BITS)? <= MAX_MAPPING;
    let are_types = bits.take(TYPE_BITS)? == 0 && bits.take(TYPE_BITS)? == 0;
    let is_long = bits.bit()?;
    (is_mapping && are_types).then_some(is_long)
}
