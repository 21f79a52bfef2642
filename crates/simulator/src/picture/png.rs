//! A PNG of flat tiles, written directly: palette, one row of differences for each row of tiles, and
//! rows equal to the one above between them. What is compressed is mostly runs of zeros, so a large
//! picture is small and quick to make. Any decoder reads it.

use super::{Palette, Picture, TILE};
use crate::tokens::count;

const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a];
/// Eight bits a pixel, palette, the usual compression and filters, not interlaced.
const KIND: [u8; 5] = [8, 3, 0, 0, 0];
/// Each byte is the difference to the one on its left.
const FILTER_SUB: u8 = 1;
/// Each byte is the difference to the one above.
const FILTER_UP: u8 = 2;
/// What the checksum of the data is counted in.
const ADLER: u64 = 65_521;
/// Shortest and longest repetition that the compression knows.
const MIN_MATCH: u64 = 3;
const MAX_MATCH: u64 = 258;
/// The first length that each code stands for, and how many more bits tell it exactly; codes begin
/// at 257.
const LENGTHS: [(u64, u32); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

/// Compressed data that are being written: one block with the fixed codes.
struct Deflated {
    bytes: Vec<u8>,
    pending: u64,
    pending_bits: u32,
    low: u64,
    high: u64,
}

/// The bytes of a picture as a PNG file.
pub(crate) fn bytes(picture: &Picture) -> Vec<u8> {
    let mut file = SIGNATURE.to_vec();
    let mut head = Vec::new();
    head.extend(picture.width.to_be_bytes());
    head.extend(picture.height.to_be_bytes());
    head.extend(KIND);
    chunk(&mut file, *b"IHDR", &head);
    let palette = Palette::of(picture);
    let colours: Vec<u8> = (0..=u8::MAX).flat_map(|at| palette.colour(at)).collect();
    chunk(&mut file, *b"PLTE", &colours);
    if picture.is_transparent {
        // The first colour of the palette cannot be seen.
        chunk(&mut file, *b"tRNS", &[0]);
    }
    if picture.is_marked {
        chunk(&mut file, *b"tEXt", b"Comment\0AI generated");
    }
    chunk(&mut file, *b"IDAT", &data(picture));
    chunk(&mut file, *b"IEND", &[]);
    file
}

/// The size that the head of a PNG file tells.
pub(crate) fn size(file: &[u8]) -> Option<(u32, u32)> {
    let rest = file.strip_prefix(&SIGNATURE)?;
    let rest = rest.get(4..)?.strip_prefix(b"IHDR")?;
    let (width, rest) = rest.split_first_chunk::<4>()?;
    let (height, _) = rest.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*width), u32::from_be_bytes(*height)))
}

pub(crate) fn is_png(file: &[u8]) -> bool {
    file.starts_with(&SIGNATURE)
}

fn chunk(file: &mut Vec<u8>, name: [u8; 4], inside: &[u8]) {
    // A chunk of ours is far below the largest that the format has.
    let length = u32::try_from(inside.len()).unwrap_or(u32::MAX);
    file.extend(length.to_be_bytes());
    file.extend(name);
    file.extend(inside);
    let mut sum = crc32fast::Hasher::new();
    sum.update(&name);
    sum.update(inside);
    file.extend(sum.finalize().to_be_bytes());
}

fn data(picture: &Picture) -> Vec<u8> {
    let mut deflated = Deflated::new();
    let (columns, rows) = picture.tiles();
    let tile = u64::from(TILE);
    for row in 0..rows {
        deflated.literal(FILTER_SUB);
        let mut left = u64::from(picture.width);
        let mut before = 0u8;
        for column in 0..columns {
            let index = picture.tile(column, row);
            deflated.literal(index.wrapping_sub(before));
            before = index;
            let wide = left.min(tile);
            deflated.zeros(wide.saturating_sub(1));
            left = left.saturating_sub(wide);
        }
        let from = row.saturating_mul(TILE);
        let more = picture.height.saturating_sub(from).min(TILE);
        for _ in 1..more {
            deflated.literal(FILTER_UP);
            deflated.zeros(picture.width.into());
        }
    }
    deflated.done()
}

// === impl Deflated ===

impl Deflated {
    fn new() -> Self {
        let mut started = Self {
            // The usual window, no dictionary.
            bytes: vec![0x78, 0x01],
            pending: 0,
            pending_bits: 0,
            low: 1,
            high: 0,
        };
        // The last block, with fixed codes.
        started.put(0b011, 3);
        started
    }

    fn literal(&mut self, byte: u8) {
        self.low = self.low.saturating_add(byte.into()) % ADLER;
        self.high = self.high.saturating_add(self.low) % ADLER;
        self.symbol(byte.into());
    }

    /// A run of zeros: one of them, and repetitions of the byte before.
    fn zeros(&mut self, length: u64) {
        if length == 0 {
            return;
        }
        self.literal(0);
        let mut left = length.saturating_sub(1);
        self.high = self.high.saturating_add(left.saturating_mul(self.low)) % ADLER;
        while left >= MIN_MATCH {
            let now = left.min(MAX_MATCH);
            self.repeat(now);
            left = left.saturating_sub(now);
        }
        for _ in 0..left {
            self.symbol(0);
        }
    }

    fn repeat(&mut self, length: u64) {
        let mut known = LENGTHS.iter().enumerate();
        let fitting = known.rfind(|(_, (from, _))| *from <= length);
        if let Some((at, (from, extra))) = fitting {
            self.symbol(count(at).saturating_add(257));
            self.put(length.saturating_sub(*from), *extra);
            // A distance of one.
            self.put(0, 5);
        }
    }

    fn symbol(&mut self, symbol: u64) {
        match symbol {
            0..144 => self.code(symbol.saturating_add(0x30), 8),
            144..256 => self.code(symbol.saturating_add(0x190 - 144), 9),
            256..280 => self.code(symbol.saturating_sub(256), 7),
            _ => self.code(symbol.saturating_sub(280).saturating_add(0xc0), 8),
        }
    }

    /// Codes stand with their first bit first, numbers with their last.
    fn code(&mut self, code: u64, bits: u32) {
        let turned = code.reverse_bits() >> 64u32.saturating_sub(bits);
        self.put(turned, bits);
    }

    fn put(&mut self, value: u64, bits: u32) {
        self.pending |= value << self.pending_bits;
        self.pending_bits = self.pending_bits.saturating_add(bits);
        while self.pending_bits >= 8 {
            self.byte();
            self.pending_bits = self.pending_bits.saturating_sub(8);
        }
    }

    fn byte(&mut self) {
        let [first, ..] = self.pending.to_le_bytes();
        self.bytes.push(first);
        self.pending >>= 8;
    }

    fn done(mut self) -> Vec<u8> {
        self.symbol(256);
        if self.pending_bits > 0 {
            self.byte();
        }
        let sum = (self.high << 16) | self.low;
        let [.., a, b, c, d] = sum.to_be_bytes();
        self.bytes.extend([a, b, c, d]);
        self.bytes
    }
}
