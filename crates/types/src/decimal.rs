//! Decimal text to scaled integers and back, exactly.
//!
//! Prices and balances are typed by people as decimals. They never pass through a float: digits
//! are moved, not computed.

/// Why a decimal text was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecimalError {
    /// Not `digits`, or `digits.digits`, with an optional leading minus.
    Shape,
    /// More decimal places than the unit has.
    TooFine,
    /// Does not fit a signed 64-bit integer of that unit.
    TooLarge,
}

/// Longest decimal text that is parsed; more digits cannot be a legal amount.
const MAX_DECIMAL_CHARACTERS: usize = 40;
/// The longest amount has a sign, 19 digits and a point.
const AMOUNT_CHARACTERS: usize = 24;

/// Reads `-12.34` as an integer of 10^-`places` units.
pub(crate) fn parse_scaled(text: &str, places: u32) -> Result<i64, DecimalError> {
    if text.len() > MAX_DECIMAL_CHARACTERS {
        return Err(DecimalError::TooLarge);
    }
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((_, "")) => return Err(DecimalError::Shape),
        Some((whole, fraction)) => (whole, fraction),
        None => (unsigned, ""),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return Err(DecimalError::Shape);
    }
    let fraction = fraction.trim_end_matches('0');
    let fraction_digits = u32::try_from(fraction.len()).map_err(|_| DecimalError::TooFine)?;
    let missing = places
        .checked_sub(fraction_digits)
        .ok_or(DecimalError::TooFine)?;
    let mut scaled: i128 = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        scaled = push_digit(scaled, byte.saturating_sub(b'0'))?;
    }
    for _ in 0..missing {
        scaled = push_digit(scaled, 0)?;
    }
    let signed = if negative {
        scaled.checked_neg()
    } else {
        Some(scaled)
    };
    signed
        .and_then(|value| i64::try_from(value).ok())
        .ok_or(DecimalError::TooLarge)
}

/// Writes an integer of 10^-`places` units as a decimal without trailing zeros. Digit by digit from the last one, since
/// every call writes amounts.
pub(crate) fn format_scaled(value: i64, places: usize) -> String {
    let mut reversed = Vec::with_capacity(AMOUNT_CHARACTERS);
    let mut rest = value.unsigned_abs();
    for _ in 0..places {
        let digit = last_digit(rest);
        rest = rest.div_euclid(10);
        if digit != b'0' || !reversed.is_empty() {
            reversed.push(digit);
        }
    }
    if !reversed.is_empty() {
        reversed.push(b'.');
    }
    loop {
        reversed.push(last_digit(rest));
        rest = rest.div_euclid(10);
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        reversed.push(b'-');
    }
    reversed.reverse();
    String::from_utf8(reversed).unwrap_or_default()
}

fn last_digit(number: u64) -> u8 {
    let digit = u8::try_from(number.rem_euclid(10)).unwrap_or(0);
    digit.saturating_add(b'0')
}

fn push_digit(value: i128, digit: u8) -> Result<i128, DecimalError> {
    value
        .checked_mul(10)
        .and_then(|tens| tens.checked_add(i128::from(digit)))
        .ok_or(DecimalError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_read_digit_by_digit_and_never_guessed() {
        assert_eq!(parse_scaled("12.34", 9), Ok(12_340_000_000));
        assert_eq!(parse_scaled("-0.000000001", 9), Ok(-1));
        assert_eq!(parse_scaled("1.50000000000000000000", 9), Ok(1_500_000_000));
        for wrong in [
            "", ".", "1.", ".5", "1e3", "+1", "1,5", "1 ", "--1", "１", "1.-5", "NaN",
        ] {
            assert_eq!(
                parse_scaled(wrong, 9),
                Err(DecimalError::Shape),
                "{wrong:?}"
            );
        }
        assert_eq!(parse_scaled("0.0000000001", 9), Err(DecimalError::TooFine));
        assert_eq!(
            parse_scaled("9223372036.854775808", 9),
            Err(DecimalError::TooLarge)
        );
        assert_eq!(parse_scaled("-9223372036.854775808", 9), Ok(i64::MIN));
        assert_eq!(parse_scaled(&format!("{:0>40}", 7), 9), Ok(7_000_000_000));
        assert_eq!(
            parse_scaled(&format!("{:0>41}", 7), 9),
            Err(DecimalError::TooLarge)
        );
    }

    #[test]
    fn an_amount_is_written_without_trailing_zeros() {
        assert_eq!(format_scaled(12_340_000_000, 9), "12.34");
        assert_eq!(format_scaled(-1, 9), "-0.000000001");
        assert_eq!(format_scaled(0, 9), "0");
        assert_eq!(format_scaled(100, 2), "1");
        assert_eq!(format_scaled(-1_005, 2), "-10.05");
        assert_eq!(format_scaled(7, 0), "7");
        assert_eq!(format_scaled(i64::MIN, 9), "-9223372036.854775808");
    }
}
