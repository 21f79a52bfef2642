//! The form of an API key: `sk-tl-`, two characters naming the shard, 43 characters of base62 for
//! 32 random bytes, six characters of checksum over all before them.
//!
//! The checksum lets a node reject a mistyped key without a lookup, and lets secret scanners recognise a leaked
//! one.

use std::fmt;

use zeroize::Zeroizing;

/// Shards an account can live in: all pairs of base62 characters.
pub const SHARDS: u16 = 3_844;
/// Length of a whole key.
pub const KEY_CHARACTERS: usize = 57;

const PREFIX: &str = "sk-tl-";
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_BYTES: usize = 32;
const SECRET_CHARACTERS: usize = 43;
const CHECKSUM_CHARACTERS: usize = 6;
/// What is taken off a character for its place in the alphabet: capitals stand from 10 on, small ones from 36 on.
const UPPER_FROM: u8 = b'A' - 10;
const LOWER_FROM: u8 = b'a' - 36;
/// What the lowest four bits of the register come to, by the polynomial 0xEDB88320.
const CRC_OF_FOUR_BITS: [u32; 16] = [
    0x0000_0000,
    0x1DB7_1064,
    0x3B6E_20C8,
    0x26D9_30AC,
    0x76DC_4190,
    0x6B6B_51F4,
    0x4DB2_6158,
    0x5005_713C,
    0xEDB8_8320,
    0xF00F_9344,
    0xD6D6_A3E8,
    0xCB61_B38C,
    0x9B64_C2B0,
    0x86D3_D2D4,
    0xA00A_E278,
    0xBDBD_F21C,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(u16);

/// A whole key, as its owner has it. Stored nowhere; zeroized on drop; prints as prefix and last four characters.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    text: Zeroizing<String>,
    shard: Shard,
}

/// Why a text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not the form of a key.
    #[error("not a Trunkline key: a key starts with sk-tl- and has {KEY_CHARACTERS} characters")]
    Shape,
    /// The checksum does not fit: a character was lost or changed.
    #[error("the key's checksum does not fit: it was mistyped or cut")]
    Checksum,
    /// No such shard.
    #[error("a shard is a number below {SHARDS}")]
    Shard,
}

// === impl Shard ===

impl Shard {
    /// The shard of a number below [`SHARDS`].
    pub const fn new(number: u16) -> Result<Self, KeyError> {
        if number < SHARDS {
            Ok(Self(number))
        } else {
            Err(KeyError::Shard)
        }
    }

    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }

    fn characters(self) -> [char; 2] {
        [
            digit(u32::from(self.0).div_euclid(62)),
            digit(u32::from(self.0).rem_euclid(62)),
        ]
    }

    fn parse(text: &str) -> Option<Self> {
        let number = text.bytes().try_fold(0_u16, |number, byte| {
            number.checked_mul(62)?.checked_add(u16::from(value(byte)?))
        })?;
        Self::new(number).ok()
    }
}

// === impl ApiKey ===

impl ApiKey {
    /// A new key of a shard from 32 random bytes.
    #[must_use]
    pub fn new(shard: Shard, secret: &[u8; SECRET_BYTES]) -> Self {
        let mut text = Zeroizing::new(String::with_capacity(KEY_CHARACTERS));
        text.push_str(PREFIX);
        text.extend(shard.characters());
        text.push_str(&base62_of(secret));
        let checksum = checksum(&text);
        text.extend(checksum.map(char::from));
        Self { text, shard }
    }

    /// Reads a key that a client sent.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let body = text.strip_prefix(PREFIX).ok_or(KeyError::Shape)?;
        if text.len() != KEY_CHARACTERS || !body.bytes().all(|byte| value(byte).is_some()) {
            return Err(KeyError::Shape);
        }
        let (before, sum) = text.split_at(KEY_CHARACTERS.saturating_sub(CHECKSUM_CHARACTERS));
        if checksum(before) != sum.as_bytes() {
            return Err(KeyError::Checksum);
        }
        let shard = body
            .get(..2)
            .and_then(Shard::parse)
            .ok_or(KeyError::Shape)?;
        Ok(Self {
            text: Zeroizing::new(text.to_owned()),
            shard,
        })
    }

    /// The shard the key's account lives in.
    #[must_use]
    pub const fn shard(&self) -> Shard {
        self.shard
    }

    /// The whole key: for showing it once, and for hashing it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// What lists show: the prefix with the shard, and the last four characters.
    #[must_use]
    pub fn hint(&self) -> String {
        let head = self
            .text
            .get(..PREFIX.len().saturating_add(2))
            .unwrap_or(PREFIX);
        let tail = self
            .text
            .get(KEY_CHARACTERS.saturating_sub(4)..)
            .unwrap_or("");
        format!("{head}…{tail}")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.hint())
    }
}

fn digit(number: u32) -> char {
    let index = usize::try_from(number).unwrap_or(0);
    ALPHABET.get(index).copied().map_or('0', char::from)
}

/// The place of a character in the alphabet. Every call asks it of every character of its key.
const fn value(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => byte.checked_sub(b'0'),
        b'A'..=b'Z' => byte.checked_sub(UPPER_FROM),
        b'a'..=b'z' => byte.checked_sub(LOWER_FROM),
        _ => None,
    }
}

/// Big-endian base62, padded to 43 characters.
fn base62_of(bytes: &[u8; SECRET_BYTES]) -> Zeroizing<String> {
    let mut number = Zeroizing::new(*bytes);
    let mut reversed = Zeroizing::new(Vec::with_capacity(SECRET_CHARACTERS));
    for _ in 0..SECRET_CHARACTERS {
        let mut rest = 0_u32;
        for byte in number.iter_mut() {
            let current = rest.saturating_mul(256).saturating_add(u32::from(*byte));
            *byte = u8::try_from(current.div_euclid(62)).unwrap_or(u8::MAX);
            rest = current.rem_euclid(62);
        }
        reversed.push(digit(rest));
    }
    Zeroizing::new(reversed.iter().rev().collect())
}

/// CRC-32 (IEEE) of the text in six base62 characters: it finds mistakes, it proves nothing.
fn checksum(text: &str) -> [u8; CHECKSUM_CHARACTERS] {
    let mut register = u32::MAX;
    for byte in text.bytes() {
        register ^= u32::from(byte);
        // Four bits at a time.
        for _ in 0..2 {
            let four = usize::try_from(register & 0xF).unwrap_or(0);
            register = (register >> 4) ^ CRC_OF_FOUR_BITS.get(four).copied().unwrap_or(0);
        }
    }
    let mut number = !register;
    let mut characters = [b'0'; CHECKSUM_CHARACTERS];
    for place in characters.iter_mut().rev() {
        let index = usize::try_from(number.rem_euclid(62)).unwrap_or(0);
        *place = ALPHABET.get(index).copied().unwrap_or(b'0');
        number = number.div_euclid(62);
    }
    characters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ApiKey {
        ApiKey::new(Shard::new(63).unwrap(), &[0xA5; SECRET_BYTES])
    }

    // covers: D-1-13, D-1-15, D-7-MON-24
    #[test]
    fn a_key_is_prefix_shard_and_43_characters_of_secret_and_checksum() {
        for bytes in [
            [0_u8; SECRET_BYTES],
            [0xFF; SECRET_BYTES],
            [0xA5; SECRET_BYTES],
        ] {
            let key = ApiKey::new(Shard::new(0).unwrap(), &bytes);
            assert!(key.reveal().starts_with("sk-tl-"));
            assert_eq!(key.reveal().len(), 57, "6 + 2 + 43 + 6");
            assert_eq!(ApiKey::parse(key.reveal()).unwrap(), key);
            let secret = &key.reveal()[8..51];
            let mut decoded = [0_u8; SECRET_BYTES];
            for byte in secret.bytes() {
                let mut carry = u32::from(value(byte).unwrap());
                for place in decoded.iter_mut().rev() {
                    let current = u32::from(*place) * 62 + carry;
                    *place = (current & 0xFF) as u8;
                    carry = current >> 8;
                }
                assert_eq!(carry, 0, "43 characters never overflow 32 bytes here");
            }
            assert_eq!(decoded, bytes, "the characters decode to the 32 bytes");
        }
    }

    // covers: D-1-14
    #[test]
    fn two_characters_name_the_shard_one_of_3844() {
        let mut seen = std::collections::BTreeSet::new();
        for number in 0..SHARDS {
            let key = ApiKey::new(Shard::new(number).unwrap(), &[1; SECRET_BYTES]);
            assert_eq!(
                ApiKey::parse(key.reveal()).unwrap().shard().number(),
                number
            );
            seen.insert(key.reveal()[6..8].to_owned());
        }
        assert_eq!(seen.len(), 3_844);
        assert_eq!(Shard::new(SHARDS), Err(KeyError::Shard));
    }

    // covers: D-1-16
    #[test]
    fn one_altered_character_anywhere_is_refused_without_a_lookup() {
        let whole = key().reveal().to_owned();
        for position in 0..whole.len() {
            for replacement in ['0', 'z', '-', 'Q'] {
                let mut altered: Vec<char> = whole.chars().collect();
                if altered[position] == replacement {
                    continue;
                }
                altered[position] = replacement;
                let altered: String = altered.into_iter().collect();
                assert!(ApiKey::parse(&altered).is_err(), "{position} {replacement}");
            }
        }
        assert_eq!(ApiKey::parse(&whole[..56]), Err(KeyError::Shape));
        assert_eq!(ApiKey::parse(&format!("{whole}0")), Err(KeyError::Shape));
        assert_eq!(ApiKey::parse(""), Err(KeyError::Shape));
    }

    #[test]
    fn the_checksum_is_the_well_known_crc_32() {
        // CRC-32 of "123456789" is 0xCBF43926 = 3421780262.
        let mut number = 0_u64;
        for byte in checksum("123456789") {
            number = number * 62 + u64::from(value(byte).unwrap());
        }
        assert_eq!(number, 0xCBF4_3926);
    }

    #[test]
    fn a_key_prints_as_prefix_and_last_four() {
        let key = key();
        assert_eq!(
            format!("{key:?}"),
            format!("sk-tl-11…{}", &key.reveal()[53..])
        );
    }
}
