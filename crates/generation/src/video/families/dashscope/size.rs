//! Sizes as they are written, and the entry of the table that covers one that is not in it.

use trunkline_catalog::RequestError;

use crate::video::resolutions::{FRAMES, Frame, Tier};

/// The code of a size with another sign than the asterisk.
const SIZE_SEPARATOR: &str = "size_separator";
/// The size that a refusal shows where it cannot mend the one that came.
const EXAMPLE: &str = "1280*720";
/// Text from outside is cut before it is shown back.
const MAX_SHOWN_CHARS: usize = 64;
/// Signs that people write in place of the asterisk.
const WRONG_SIGNS: [char; 3] = ['x', 'X', '×'];
/// Beyond this a side is as good as endless; it keeps products of four sides within 128 bits.
const MAX_SIDE: u64 = 1 << 30;

/// The sides of a size such as `1280*720`.
pub(super) fn read_size(text: &str) -> Result<(u64, u64), RequestError> {
    if let Some(sides) = sides(text, '*') {
        return Ok(sides);
    }
    let sent = shortened(text);
    let mended = WRONG_SIGNS.into_iter().find_map(|sign| {
        sides(text, sign)?;
        text.split_once(sign)
    });
    Err(match mended {
        Some((width, height)) => {
            let right = shortened(&format!("{width}*{height}"));
            let message = format!("invalid size: {sent}, example: {right}");
            RequestError::new(SIZE_SEPARATOR, "size", message)
        }
        None => RequestError::invalid("size", format!("invalid size: {sent}, example: {EXAMPLE}")),
    })
}

/// A text from outside as it may be shown back.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}

/// The entry that covers any size: the smallest of the two sold tiers with at least as many pixels,
/// the larger one where none has, and the nearest ratio.
pub(in super::super) fn covering(width: u64, height: u64) -> Frame {
    let pixels = |frame: &Frame| u128::from(frame.width).saturating_mul(u128::from(frame.height));
    let area = u128::from(width).saturating_mul(u128::from(height));
    let of_tier = |tier: Tier| FRAMES.into_iter().filter(move |frame| frame.tier == tier);
    let most = of_tier(Tier::P720).map(|frame| pixels(&frame)).max();
    let tier = if most.is_some_and(|most| area <= most) {
        Tier::P720
    } else {
        Tier::P1080
    };
    let nearest = of_tier(tier).reduce(|best, frame| {
        if is_nearer(frame, best, width, height) {
            frame
        } else {
            best
        }
    });
    nearest.unwrap_or(super::DEFAULT_FRAME)
}

fn sides(text: &str, sign: char) -> Option<(u64, u64)> {
    let (width, height) = text.split_once(sign)?;
    Some((side(width)?, side(height)?))
}

fn side(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Only digits: what does not fit is too large, not wrong.
    let side = text.parse().unwrap_or(MAX_SIDE).min(MAX_SIDE);
    (side > 0).then_some(side)
}

/// Whether the shape of one entry is nearer to a size than another's: by what factor each is off.
fn is_nearer(one: Frame, other: Frame, width: u64, height: u64) -> bool {
    let off = |frame: Frame| {
        let (across, down) = shape(frame);
        let a = u128::from(width).saturating_mul(down);
        let b = u128::from(height).saturating_mul(across);
        (a.max(b), a.min(b))
    };
    let (one_large, one_small) = off(one);
    let (other_large, other_small) = off(other);
    one_large.saturating_mul(other_small) < other_large.saturating_mul(one_small)
}

/// The two numbers of a ratio.
fn shape(frame: Frame) -> (u128, u128) {
    let number = |text: &str| text.parse().unwrap_or(1);
    let (across, down) = frame.ratio.split_once(':').unwrap_or(("1", "1"));
    (number(across), number(down))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_digits_on_both_sides_of_an_asterisk() {
        assert_eq!(read_size("1280*720").unwrap(), (1280, 720));
        let endless = "9".repeat(50);
        assert_eq!(read_size(&format!("{endless}*1")).unwrap(), (MAX_SIDE, 1));
        for wrong in ["", "*", "1280*", "1*2*3", "0*720", "-1*2", "1.5*2", "big"] {
            assert_eq!(
                read_size(wrong).unwrap_err().code,
                "invalid_request",
                "{wrong}"
            );
        }
    }

    #[test]
    fn another_sign_is_refused_with_the_mended_size() {
        for sign in ["x", "X", "×"] {
            let refusal = read_size(&format!("1920{sign}1080")).unwrap_err();
            assert_eq!(refusal.code, "size_separator");
            assert!(
                refusal.message.ends_with(", example: 1920*1080"),
                "{refusal}"
            );
        }
        let long = read_size(&format!("{}x1", "9".repeat(500))).unwrap_err();
        assert!(long.message.len() < 200, "{}", long.message);
    }

    #[test]
    fn a_size_outside_the_table_is_covered_by_a_tier_and_the_nearest_ratio() {
        for (width, height, tier, ratio) in [
            (1000, 1000, Tier::P1080, "1:1"),
            (900, 500, Tier::P720, "16:9"),
            (832, 480, Tier::P720, "16:9"),
            (480, 832, Tier::P720, "9:16"),
            (2560, 1440, Tier::P1080, "16:9"),
            (1, MAX_SIDE, Tier::P1080, "9:16"),
            (640, 480, Tier::P720, "4:3"),
            (1281, 720, Tier::P1080, "16:9"),
        ] {
            let frame = covering(width, height);
            assert_eq!((frame.tier, frame.ratio), (tier, ratio), "{width}*{height}");
        }
    }
}
