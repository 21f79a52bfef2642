//! Sample rates that containers write as floating point numbers, read without floating point.

/// The whole part of a big-endian number of four or eight bytes.
pub(crate) fn float_rate(bytes: &[u8]) -> Option<u32> {
    let (bits, mantissa_bits, bias) = match bytes.len() {
        4 => (
            u64::from(u32::from_be_bytes(bytes.try_into().ok()?)),
            23_u32,
            127_u64,
        ),
        8 => (u64::from_be_bytes(bytes.try_into().ok()?), 52, 1_023),
        _ => return None,
    };
    let one = 1_u64.checked_shl(mantissa_bits)?;
    let mantissa = bits & one.saturating_sub(1) | one;
    let exponent_mask = bias.saturating_mul(2).saturating_add(1);
    let exponent = bits.checked_shr(mantissa_bits)? & exponent_mask;
    let exponent = u32::try_from(exponent.checked_sub(bias)?).ok()?;
    let shift = mantissa_bits.checked_sub(exponent)?;
    u32::try_from(mantissa.checked_shr(shift)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_either_width_is_read_by_its_bits() {
        for whole in [1_u32, 8_000, 44_100, 48_000, 96_000, 192_000] {
            let bytes = f64::from(whole).to_bits().to_be_bytes();
            assert_eq!(float_rate(&bytes), Some(whole));
        }
        assert_eq!(
            float_rate(&44_100_f32.to_bits().to_be_bytes()),
            Some(44_100)
        );
        assert_eq!(float_rate(&[]), None);
        for other in [f64::INFINITY, f64::NAN, 0.5, 1e300] {
            assert_eq!(float_rate(&other.to_bits().to_be_bytes()), None);
        }
    }
}
