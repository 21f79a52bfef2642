//! AAC: its configuration, wherever a container keeps it, says how many samples a packet has.

use super::Coding;
use super::bits::Bits;
use crate::Codec;

/// Kinds of objects that change what is read here.
const SPECTRAL_BANDS: u32 = 5;
const STEREO_PARAMETERS: u32 = 29;
const LOW_DELAY: u32 = 23;
const ENHANCED_LOW_DELAY: u32 = 39;
const ESCAPED: u32 = 31;
/// Kinds whose configuration begins with the length of a frame.
const PLAIN: [u32; 10] = [1, 2, 3, 4, 6, 7, 17, 19, 20, 22];
/// A rate that is written out.
const OWN_RATE: u32 = 15;

/// How packets are counted, by an AudioSpecificConfig. Spectral bands double the rate and the samples
/// alike, so the rate of the core is the one that counts.
pub(crate) fn coding(config: &[u8]) -> Option<Coding> {
    let mut bits = Bits::new(config);
    let kind = object_kind(&mut bits)?;
    let rate = read_rate(&mut bits)?;
    bits.take(4)?;
    let kind = if kind == SPECTRAL_BANDS || kind == STEREO_PARAMETERS {
        read_rate(&mut bits)?;
        object_kind(&mut bits)?
    } else {
        kind
    };
    let is_short = bits.bit()?;
    let samples = match (kind, is_short) {
        (LOW_DELAY | ENHANCED_LOW_DELAY, false) => 512,
        (LOW_DELAY | ENHANCED_LOW_DELAY, true) => 480,
        (kind, is_short) if PLAIN.contains(&kind) => {
            if is_short {
                960
            } else {
                super::mpeg::AAC_SAMPLES
            }
        }
        _ => return None,
    };
    Some(Coding::Fixed {
        samples,
        rate,
        codec: Codec::Aac,
    })
}

fn object_kind(bits: &mut Bits<'_>) -> Option<u32> {
    let kind = bits.take(5)?;
    if kind != ESCAPED {
        return Some(kind);
    }
    Some(bits.take(6)?.saturating_add(32))
}

fn read_rate(bits: &mut Bits<'_>) -> Option<u32> {
    let code = bits.take(4)?;
    let rate = if code == OWN_RATE {
        bits.take(24)?
    } else {
        usual_rate(code)?
    };
    (rate > 0).then_some(rate)
}

/// The rate of a number in a header.
pub(crate) const fn usual_rate(code: u32) -> Option<u32> {
    Some(match code {
        0 => 96_000,
        1 => 88_200,
        2 => 64_000,
        3 => 48_000,
        4 => 44_100,
        5 => 32_000,
        6 => 24_000,
        7 => 22_050,
        8 => 16_000,
        9 => 12_000,
        10 => 11_025,
        11 => 8_000,
        12 => 7_350,
        _ => return None,
    })
}
