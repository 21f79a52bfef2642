//! Opus: the first byte of a packet says how long its frames are, and with a second one how many.

/// Opus counts at this rate, whatever was recorded.
pub(crate) const RATE: u32 = 48_000;
/// No packet is longer than 120 ms.
pub(crate) const MAX_PACKET_SAMPLES: u64 = 5_760;

/// The samples of a packet, none if no decoder would take it.
pub(crate) fn samples(header: &[u8]) -> Option<u64> {
    let first = *header.first()?;
    let frames = match first & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u64::from(header.get(1)? & 0x3F),
    };
    let samples = frames.checked_mul(frame_samples(first >> 3))?;
    (samples > 0 && samples <= MAX_PACKET_SAMPLES).then_some(samples)
}

fn frame_samples(config: u8) -> u64 {
    match (config, config & 3) {
        // SILK: 10, 20, 40 and 60 ms.
        (0..=11, 0) => 480,
        (0..=11, 1) => 960,
        (0..=11, 2) => 1_920,
        (0..=11, _) => 2_880,
        // Hybrid: 10 and 20 ms.
        (12..=15, 0 | 2) => 480,
        (12..=15, _) => 960,
        // CELT: 2.5, 5, 10 and 20 ms.
        (_, 0) => 120,
        (_, 1) => 240,
        (_, 2) => 480,
        (_, _) => 960,
    }
}

/// The samples at the start that are no sound, of the header of a stream (`OpusHead`).
pub(crate) fn pre_skip(header: &[u8]) -> Option<u64> {
    let rest = header.strip_prefix(b"OpusHead")?;
    let bytes = rest.get(2..4)?.try_into().ok()?;
    Some(u64::from(u16::from_le_bytes(bytes)))
}
