//! AAC from one encoded frame (`audio/make`), each with the ADTS header of a stream.

pub(super) const RATE: u32 = 24_000;
pub(super) const SAMPLES_PER_PIECE: u64 = SAMPLES_PER_FRAME * FRAMES_PER_PIECE;
const SAMPLES_PER_FRAME: u64 = 1_024;
const FRAMES_PER_PIECE: u64 = 5;
const HEADER_BYTES: usize = 7;
static FRAME: &[u8] = include_bytes!("../../audio/aac.bin");

pub(super) fn piece(samples: u64, index: u64) -> Vec<u8> {
    let frames = samples.div_ceil(SAMPLES_PER_FRAME);
    let first = index.saturating_mul(FRAMES_PER_PIECE).min(frames);
    let last = first.saturating_add(FRAMES_PER_PIECE).min(frames);
    let frame = [&header(), FRAME].concat();
    (first..last).flat_map(|_| frame.clone()).collect()
}

/// Sync, the plain profile, 24 kilohertz, one channel, the length, a full buffer.
fn header() -> [u8; HEADER_BYTES] {
    let length = HEADER_BYTES.saturating_add(FRAME.len());
    let bits = |shift: u32, mask: usize| u8::try_from((length >> shift) & mask).unwrap_or(0);
    [
        0xff,
        0xf1,
        0x58,
        0x40 | bits(11, 0b11),
        bits(3, 0xff),
        (bits(0, 0b111) << 5) | 0x1f,
        0xfc,
    ]
}
