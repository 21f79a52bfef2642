//! The header of an element, and numbers as EBML writes them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) id: u32,
    pub(super) header_bytes: u64,
    /// None: unknown, as of a stream that was still being written.
    pub(super) size: Option<u64>,
}

impl Element {
    pub(super) const MAX_HEADER_BYTES: usize = 12;

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (id, id_bytes) = read_number(bytes, 4, true)?;
        let (size, size_bytes) = read_number(bytes.get(id_bytes..)?, 8, false)?;
        Some(Self {
            id: u32::try_from(id).ok()?,
            header_bytes: u64::try_from(id_bytes.saturating_add(size_bytes)).ok()?,
            size: (size != most(size_bytes)).then_some(size),
        })
    }
}

/// A number whose first byte says by its leading zeros how many bytes it has.
pub(super) fn vint(bytes: &[u8]) -> Option<(u64, usize)> {
    read_number(bytes, 8, false)
}

/// A difference of two sizes: a number around the middle of its range.
pub(super) fn signed_vint(bytes: &[u8]) -> Option<(i64, usize)> {
    let (value, count) = vint(bytes)?;
    let middle = i64::try_from(most(count).wrapping_shr(1)).ok()?;
    Some((i64::try_from(value).ok()?.checked_sub(middle)?, count))
}

/// A plain number of up to eight bytes.
pub(super) fn number(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().take(8);
    bytes.fold(0, |value, byte| value.wrapping_shl(8) | u64::from(*byte))
}

fn read_number(bytes: &[u8], most_bytes: u32, keeps_mark: bool) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let count = first.leading_zeros().saturating_add(1);
    if count > most_bytes {
        return None;
    }
    let count_bytes = usize::try_from(count).ok()?;
    let value = number(bytes.get(..count_bytes)?);
    let kept = if keeps_mark {
        value
    } else {
        value & most(count_bytes)
    };
    Some((kept, count_bytes))
}

/// All bits of a number of so many bytes.
fn most(count: usize) -> u64 {
    let bits = u32::try_from(count).unwrap_or(8).saturating_mul(7);
    1_u64.checked_shl(bits).unwrap_or(0).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_with_a_known_and_an_unknown_size() {
        let known = Element::read(&[0xA3, 0x41, 0x02, 0]).expect("a simple block");
        assert_eq!(
            (known.id, known.header_bytes, known.size),
            (0xA3, 3, Some(0x102))
        );
        let bytes = [
            0x1F, 0x43, 0xB6, 0x75, 0x01, 255, 255, 255, 255, 255, 255, 255,
        ];
        let unknown = Element::read(&bytes).expect("a cluster");
        assert_eq!(
            (unknown.id, unknown.header_bytes, unknown.size),
            (0x1F43_B675, 12, None)
        );
        assert_eq!(Element::read(&[0x08, 0x81]), None);
        assert_eq!(Element::read(&[0xA3]), None);
    }

    #[test]
    fn a_difference_is_read_around_the_middle() {
        assert_eq!(signed_vint(&[0x80 | 63]), Some((0, 1)));
        assert_eq!(signed_vint(&[0x80]), Some((-63, 1)));
        assert_eq!(signed_vint(&[0x80 | 64]), Some((1, 1)));
    }
}
