//! The form of a code: `TL-XXXX-XXXX-XXXX-XXXX`, fifteen characters of Crockford's base 32 for 75
//! random bits and one that checks them, so that a mistyped code does not use up an attempt.
//!
//! People read codes aloud and type them: case, blanks and dashes do not matter, and `O`, `I` and `L` are read
//! as the digits they look like.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// Random bytes that a code takes.
pub const CODE_RANDOM_BYTES: usize = 15;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const PREFIX: &str = "TL";
/// Characters that say something, the check included.
const CHARACTERS: usize = CODE_RANDOM_BYTES + 1;
/// Longest text that is looked at.
const MAX_TYPED: usize = 64;
const GROUP: usize = 4;

/// The plain text of a code. Never stored; its debug form is the hint.
#[derive(Clone, PartialEq, Eq)]
pub struct RedemptionCode(String);

// === impl RedemptionCode ===

impl RedemptionCode {
    /// A new code of random bytes, five bits of each.
    #[must_use]
    pub fn new(random: &[u8; CODE_RANDOM_BYTES]) -> Self {
        let mut digits: Vec<u8> = random.iter().map(|byte| byte & 31).collect();
        digits.push(check(&digits));
        let text = digits
            .iter()
            .filter_map(|digit| character(*digit))
            .collect();
        Self(text)
    }

    /// Parses a typed code; none if it is invalid.
    #[must_use]
    pub fn parse(typed: &str) -> Option<Self> {
        if typed.len() > MAX_TYPED {
            return None;
        }
        let plain: String = typed
            .chars()
            .filter(|c| {
                !c.is_whitespace() && !matches!(c, '-' | '\u{2010}'..='\u{2015}' | '_' | '.')
            })
            .map(|c| c.to_ascii_uppercase())
            .collect();
        // The prefix is accepted as `TL` or `T1`, where the L was read as a digit.
        let body = ["TL", "T1"]
            .iter()
            .find_map(|prefix| plain.strip_prefix(prefix))
            .filter(|body| body.len() == CHARACTERS)
            .unwrap_or(&plain);
        let digits: Option<Vec<u8>> = body.chars().map(digit).collect();
        let digits = digits.filter(|digits| digits.len() == CHARACTERS)?;
        let (sum, rest) = digits.split_last()?;
        if check(rest) != *sum {
            return None;
        }
        let text = digits
            .iter()
            .filter_map(|digit| character(*digit))
            .collect();
        Some(Self(text))
    }

    /// As it is handed out.
    #[must_use]
    pub fn reveal(&self) -> String {
        let mut text = PREFIX.to_owned();
        for (place, c) in self.0.chars().enumerate() {
            if place.rem_euclid(GROUP) == 0 {
                text.push('-');
            }
            text.push(c);
        }
        text
    }

    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// What lists show: its last four characters.
    #[must_use]
    pub fn hint(&self) -> String {
        let last: String = self
            .0
            .chars()
            .skip(CHARACTERS.saturating_sub(GROUP))
            .collect();
        format!("TL-…-{last}")
    }
}

impl fmt::Debug for RedemptionCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.hint())
    }
}

/// Luhn's sum over 32 characters: finds every single wrong character and all but one in a thousand swaps of
/// neighbours.
fn check(digits: &[u8]) -> u8 {
    let sum = digits
        .iter()
        .rev()
        .enumerate()
        .fold(0_u32, |sum, (place, digit)| {
            let digit = u32::from(*digit);
            let weighed = if place.rem_euclid(2) == 0 {
                let double = digit.saturating_mul(2);
                double.div_euclid(32).saturating_add(double.rem_euclid(32))
            } else {
                digit
            };
            sum.saturating_add(weighed)
        });
    let rest = 32_u32.saturating_sub(sum.rem_euclid(32)).rem_euclid(32);
    u8::try_from(rest).unwrap_or(0)
}

fn character(digit: u8) -> Option<char> {
    ALPHABET
        .get(usize::from(digit))
        .map(|byte| char::from(*byte))
}

fn digit(typed: char) -> Option<u8> {
    let read = match typed {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    };
    let place = ALPHABET.iter().position(|byte| char::from(*byte) == read)?;
    u8::try_from(place).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code() -> RedemptionCode {
        RedemptionCode::new(&[1, 200, 33, 4, 95, 6, 77, 8, 19, 10, 11, 12, 13, 14, 255])
    }

    #[test]
    fn a_code_has_four_groups_and_is_read_as_people_type_it() {
        let text = code().reveal();
        assert_eq!(text.len(), 22, "{text}");
        assert!(text.starts_with("TL-"), "{text}");
        for typed in [
            text.clone(),
            text.to_lowercase(),
            text.replace('-', ""),
            text.replace('-', " "),
            format!("  {}  ", text.trim_start_matches("TL-")),
            text.replace('-', "\u{2013}")
                .replace('1', "l")
                .replace('0', "o"),
        ] {
            assert_eq!(RedemptionCode::parse(&typed), Some(code()), "{typed}");
        }
        assert_eq!(format!("{:?}", code()), code().hint());
        assert!(
            text.ends_with(&code().hint()[6..])
                || text.ends_with(code().hint().trim_start_matches("TL-…-"))
        );
    }

    #[test]
    fn every_single_wrong_character_is_noticed() {
        let plain = code().0;
        for place in 0..CHARACTERS {
            for character in ALPHABET {
                let mut typed: Vec<u8> = plain.bytes().collect();
                if typed[place] == *character {
                    continue;
                }
                typed[place] = *character;
                let typed = String::from_utf8(typed).unwrap();
                assert_eq!(RedemptionCode::parse(&typed), None, "{typed}");
            }
        }
    }

    #[test]
    fn what_is_no_code_is_none() {
        let long = "A".repeat(65);
        for typed in [
            "",
            "TL",
            "TL-",
            "TL-0000",
            "hello",
            "TL-UUUU-UUUU-UUUU-UUUU",
            &long,
            "🦀",
        ] {
            assert_eq!(RedemptionCode::parse(typed), None, "{typed}");
        }
    }
}
