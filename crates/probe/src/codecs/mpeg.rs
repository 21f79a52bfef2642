//! Frames that begin with eleven or twelve bits that are set: MPEG audio, and AAC in ADTS. Their headers
//! say how many bytes and samples they have.

use crate::byte_reader::ByteReader;

pub(crate) const MPEG_HEADER_BYTES: usize = 4;
pub(crate) const ADTS_HEADER_BYTES: usize = 7;
/// Samples of a block of AAC.
pub(crate) const AAC_SAMPLES: u64 = 1_024;

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) bytes: usize,
    pub(crate) samples: u64,
    pub(crate) rate: u32,
    /// Version and layer, which do not change within a stream.
    pub(crate) kind: u8,
    pub(crate) is_layer_3: bool,
}

/// What the first frame of a file may be instead of sound: a table of the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Table {
    /// The number of frames that it declares.
    pub(crate) frames: Option<u64>,
    /// Samples that the encoder put before and behind the sound.
    pub(crate) added: Option<(u64, u64)>,
}

impl Frame {
    pub(crate) fn mpeg(header: &[u8]) -> Option<Self> {
        let [first, second, third, fourth] = *header.first_chunk::<MPEG_HEADER_BYTES>()?;
        let (version, layer) = (second.wrapping_shr(3) & 3, second.wrapping_shr(1) & 3);
        // Version 1 does not exist, nor layer 0, nor emphasis 2.
        if first != 0xFF || second & 0xE0 != 0xE0 || version == 1 || layer == 0 || fourth & 3 == 2 {
            return None;
        }
        let is_first_version = version == 3;
        let kilobits = kilobits(is_first_version, layer, third.wrapping_shr(4))?;
        let rate = match third.wrapping_shr(2) & 3 {
            0 => 44_100_u32,
            1 => 48_000,
            2 => 32_000,
            _ => return None,
        };
        let halvings = match version {
            3 => 0,
            2 => 1,
            _ => 2,
        };
        let rate = rate.wrapping_shr(halvings);
        let samples: u32 = match (layer, is_first_version) {
            (3, _) => 384,
            (1, false) => 576,
            (_, _) => 1_152,
        };
        let padding = u32::from(third.wrapping_shr(1) & 1);
        let bits = kilobits.saturating_mul(1_000);
        let bytes = if layer == 3 {
            let slots = bits.saturating_mul(12).checked_div(rate)?;
            slots.saturating_add(padding).saturating_mul(4)
        } else {
            let whole = bits
                .saturating_mul(samples.wrapping_shr(3))
                .checked_div(rate)?;
            whole.saturating_add(padding)
        };
        Some(Self {
            bytes: usize::try_from(bytes).ok()?,
            samples: u64::from(samples),
            rate,
            kind: second & 0x1E,
            is_layer_3: layer == 1,
        })
    }

    pub(crate) fn adts(header: &[u8]) -> Option<Self> {
        let [first, second, third, fourth, fifth, sixth, seventh] =
            *header.first_chunk::<ADTS_HEADER_BYTES>()?;
        if first != 0xFF || second & 0xF6 != 0xF0 {
            return None;
        }
        let rate = super::aac::usual_rate(u32::from(third.wrapping_shr(2) & 0x0F))?;
        let bytes = usize::from(fourth & 3).wrapping_shl(11)
            | usize::from(fifth).wrapping_shl(3)
            | usize::from(sixth).wrapping_shr(5);
        let blocks = u64::from(seventh & 3).saturating_add(1);
        (bytes > ADTS_HEADER_BYTES).then_some(Self {
            bytes,
            samples: blocks.saturating_mul(AAC_SAMPLES),
            rate,
            kind: second & 0x0E,
            is_layer_3: false,
        })
    }

    /// Whether this frame can follow that one.
    pub(crate) const fn goes_with(&self, other: &Self) -> bool {
        self.kind == other.kind && self.rate == other.rate
    }
}

impl Table {
    /// The table in a frame of MPEG audio, if it is one.
    pub(crate) fn read(frame: &[u8]) -> Option<Self> {
        let [_, second, _, fourth] = *frame.first_chunk::<MPEG_HEADER_BYTES>()?;
        let is_mono = fourth.wrapping_shr(6) == 3;
        let side_bytes: usize = match (second & 8 != 0, is_mono) {
            (true, false) => 32,
            (true, true) | (false, false) => 17,
            (false, true) => 9,
        };
        if frame.get(36..40) == Some(b"VBRI") {
            return Some(Self::default());
        }
        let table = frame.get(MPEG_HEADER_BYTES.saturating_add(side_bytes)..)?;
        let name = table.first_chunk::<4>()?;
        if name != b"Xing" && name != b"Info" {
            return None;
        }
        Some(Self::read_xing(table).unwrap_or_default())
    }

    fn read_xing(table: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(table);
        reader.skip(4)?;
        let flags = reader.u32()?;
        let frames = if flags & 1 == 0 {
            None
        } else {
            Some(u64::from(reader.u32()?))
        };
        for (flag, bytes) in [(2, 4), (4, 100), (8, 4)] {
            if flags & flag != 0 {
                reader.skip(bytes)?;
            }
        }
        let added = Self::read_added(reader);
        Some(Self { frames, added })
    }

    /// Of the encoders that players trust.
    fn read_added(mut reader: ByteReader<'_>) -> Option<(u64, u64)> {
        let encoder = reader.bytes::<9>()?;
        if ![b"LAME", b"Lavf", b"Lavc"]
            .iter()
            .any(|name| encoder.starts_with(*name))
        {
            return None;
        }
        reader.skip(12)?;
        let [first, second, third] = reader.bytes()?;
        let delay = u64::from(first).wrapping_shl(4) | u64::from(second.wrapping_shr(4));
        let padding = u64::from(second & 0x0F).wrapping_shl(8) | u64::from(third);
        Some((delay, padding))
    }
}

/// Bits of a second, by version, layer and the number in a header.
fn kilobits(is_first_version: bool, layer: u8, code: u8) -> Option<u32> {
    const FIRST_I: [u32; 14] = [
        32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448,
    ];
    const FIRST_II: [u32; 14] = [
        32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384,
    ];
    const FIRST_III: [u32; 14] = [
        32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
    ];
    const LATER_I: [u32; 14] = [
        32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256,
    ];
    const LATER: [u32; 14] = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
    let table = match (is_first_version, layer) {
        (true, 3) => FIRST_I,
        (true, 2) => FIRST_II,
        (true, _) => FIRST_III,
        (false, 3) => LATER_I,
        (false, _) => LATER,
    };
    table.get(usize::from(code.checked_sub(1)?)).copied()
}
