//! A baseline JPEG of flat blocks: each block has one number for each of luma and the two chromas,
//! and nothing else, so the whole encoder is a table of nine codes. Any decoder reads it.

use super::{Palette, Picture, TILE};

const START: [u8; 2] = [0xff, 0xd8];
const END: [u8; 2] = [0xff, 0xd9];
const JFIF: &[u8] = b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0";
/// Pixels of a block's side.
const BLOCK: u32 = 8;
/// A flat block's first coefficient is eight times its value; divided by this it is the value.
const QUANTUM: u8 = 8;
/// Differences of the first coefficient: none has a code of one bit, those of one to eight bits have
/// codes of five.
const FIRST_LENGTHS: [u8; 16] = [1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const FIRST_VALUES: [u8; 9] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
/// The code of a difference of one bit; the others follow.
const FIRST_CODE: u32 = 0b10000;
/// The other coefficients: only "no more", as one bit.
const REST_LENGTHS: [u8; 16] = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Bits that are being written, first bit first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    pending: u64,
    pending_bits: u32,
}

/// The bytes of a picture as a JPEG file.
pub(crate) fn bytes(picture: &Picture) -> Vec<u8> {
    let mut file = START.to_vec();
    segment(&mut file, 0xe0, JFIF);
    if picture.is_marked {
        segment(&mut file, 0xfe, b"AI generated");
    }
    let mut table = vec![0];
    table.extend([QUANTUM; 64]);
    segment(&mut file, 0xdb, &table);
    segment(&mut file, 0xc0, &frame(picture));
    let mut codes = vec![0x00];
    codes.extend(FIRST_LENGTHS);
    codes.extend(FIRST_VALUES);
    codes.push(0x10);
    codes.extend(REST_LENGTHS);
    codes.push(0);
    segment(&mut file, 0xc4, &codes);
    segment(&mut file, 0xda, &[3, 1, 0, 2, 0, 3, 0, 0, 63, 0]);
    file.extend(scan(picture));
    file.extend(END);
    file
}

pub(crate) fn is_jpeg(file: &[u8]) -> bool {
    file.starts_with(&[0xff, 0xd8, 0xff])
}

/// Eight bits, the size, and three components that are sampled alike.
fn frame(picture: &Picture) -> Vec<u8> {
    let side = |pixels: u32| u16::try_from(pixels).unwrap_or(u16::MAX).to_be_bytes();
    let mut frame = vec![8];
    frame.extend(side(picture.height));
    frame.extend(side(picture.width));
    frame.extend([3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]);
    frame
}

fn segment(file: &mut Vec<u8>, mark: u8, inside: &[u8]) {
    let length = inside.len().saturating_add(2);
    let length = u16::try_from(length).unwrap_or(u16::MAX);
    file.extend([0xff, mark]);
    file.extend(length.to_be_bytes());
    file.extend(inside);
}

fn scan(picture: &Picture) -> Vec<u8> {
    let palette = Palette::of(picture);
    let colours: Vec<[i32; 3]> = (0..=u8::MAX)
        .map(|at| luma_and_chroma(palette.colour(at)))
        .collect();
    let blocks_of_tile = TILE / BLOCK;
    let mut bits = Bits::default();
    let mut before = [0i32; 3];
    for row in 0..picture.height.div_ceil(BLOCK) {
        for column in 0..picture.width.div_ceil(BLOCK) {
            let index = picture.tile(column / blocks_of_tile, row / blocks_of_tile);
            let colour = colours.get(usize::from(index)).copied().unwrap_or_default();
            for (now, last) in colour.iter().zip(before) {
                bits.difference(now.saturating_sub(last));
            }
            before = colour;
        }
    }
    bits.done()
}

/// Integers as they are stored: around zero.
fn luma_and_chroma([red, green, blue]: [u8; 3]) -> [i32; 3] {
    let [red, green, blue] = [red, green, blue].map(i32::from);
    let mixed = |r: i32, g: i32, b: i32| {
        let sum = red
            .saturating_mul(r)
            .saturating_add(green.saturating_mul(g))
            .saturating_add(blue.saturating_mul(b));
        (sum / 1000).clamp(-128, 255)
    };
    [
        mixed(299, 587, 114).saturating_sub(128),
        mixed(-169, -331, 500).clamp(-128, 127),
        mixed(500, -419, -81).clamp(-128, 127),
    ]
}

// === impl Bits ===

impl Bits {
    /// One block of one component.
    fn difference(&mut self, difference: i32) {
        let size = difference.unsigned_abs();
        let bits = u32::BITS.saturating_sub(size.leading_zeros());
        if bits == 0 {
            self.put(0, 1);
        } else {
            self.put(FIRST_CODE.saturating_add(bits).saturating_sub(1), 5);
            let span = 1u32.checked_shl(bits).unwrap_or(0).saturating_sub(1);
            // Below zero, every bit is turned.
            let written = if difference < 0 { size ^ span } else { size };
            self.put(written, bits);
        }
        self.put(0, 1);
    }

    fn put(&mut self, value: u32, bits: u32) {
        self.pending = (self.pending << bits) | u64::from(value);
        self.pending_bits = self.pending_bits.saturating_add(bits);
        while self.pending_bits >= 8 {
            self.pending_bits = self.pending_bits.saturating_sub(8);
            let [.., byte] = (self.pending >> self.pending_bits).to_be_bytes();
            self.byte(byte);
        }
    }

    fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
        if byte == 0xff {
            // Else it would begin a mark.
            self.bytes.push(0);
        }
    }

    fn done(mut self) -> Vec<u8> {
        let left = (8u32.saturating_sub(self.pending_bits)) % 8;
        let ones = 1u32.checked_shl(left).unwrap_or(1).saturating_sub(1);
        self.put(ones, left);
        self.bytes
    }
}
