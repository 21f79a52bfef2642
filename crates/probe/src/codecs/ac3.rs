//! AC-3 and Enhanced AC-3. Containers hold six blocks in a packet, whichever frames they are made of.

/// Six blocks of 256.
pub(crate) const PACKET_SAMPLES: u64 = 1_536;
/// A later number says that the frame is of the enhanced kind.
const LAST_PLAIN: u8 = 10;

/// The rate of a packet, none if it is not one.
pub(crate) fn rate(header: &[u8]) -> Option<u32> {
    let [first, second, _, _, rates, kind] = *header.first_chunk()?;
    if [first, second] != [0x0B, 0x77] {
        return None;
    }
    let usual = |code: u8| match code {
        0 => Some(48_000_u32),
        1 => Some(44_100),
        2 => Some(32_000),
        _ => None,
    };
    let is_enhanced = kind.wrapping_shr(3) > LAST_PLAIN;
    match usual(rates.wrapping_shr(6)) {
        None if is_enhanced => usual(rates.wrapping_shr(4) & 3).map(|rate| rate.wrapping_shr(1)),
        known => known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_of_both_kinds() {
        let header = |rates: u8, kind: u8| rate(&[0x0B, 0x77, 0, 0, rates, kind << 3]);
        assert_eq!(
            [0x00, 0x40, 0x80].map(|rates| header(rates, 8)),
            [Some(48_000), Some(44_100), Some(32_000)]
        );
        assert_eq!(header(0xC0, 8), None);
        assert_eq!(
            [0xC0, 0xD0, 0xE0].map(|rates| header(rates, 16)),
            [Some(24_000), Some(22_050), Some(16_000)]
        );
        assert_eq!(header(0xF0, 16), None);
        assert_eq!(rate(b"\x0B\x78\0\0\0\0"), None);
    }
}
