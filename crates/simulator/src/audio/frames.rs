//! The frames of MP3 and ADTS, counted as they pass by.

/// Walks from header to header.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// Bytes to pass before the next header.
    skip: u64,
    header: Vec<u8>,
    samples: u64,
    rate: u64,
    is_lost: bool,
}

struct FrameHeader {
    bytes: u64,
    samples: u64,
    rate: u64,
}

/// The longest header that is looked at, of ID3.
const HEADER_BYTES: usize = 10;
const FAST_KILOBITS: [u64; 15] = [
    0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
];
const SLOW_KILOBITS: [u64; 15] = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const MP3_RATES: [u64; 3] = [44_100, 48_000, 32_000];
const AAC_RATES: [u64; 13] = [
    96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000,
    7_350,
];

impl Frames {
    pub(super) fn walk(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !self.is_lost && !rest.is_empty() {
            let passed = usize::try_from(self.skip).unwrap_or(usize::MAX);
            let passed = passed.min(rest.len());
            self.skip = self.skip.saturating_sub(crate::tokens::count(passed));
            rest = rest.get(passed..).unwrap_or_default();
            let remaining = HEADER_BYTES.saturating_sub(self.header.len());
            let taken = remaining.min(rest.len());
            self.header.extend(rest.iter().take(taken));
            rest = rest.get(taken..).unwrap_or_default();
            if self.header.len() == HEADER_BYTES {
                self.read();
            }
        }
    }

    /// How long they sound together; none if there was none.
    pub(super) fn millis(&self) -> Option<u64> {
        self.samples.saturating_mul(1_000).checked_div(self.rate)
    }

    fn read(&mut self) {
        let header = std::mem::take(&mut self.header);
        let Some(frame) = frame_header(&header) else {
            self.is_lost = true;
            return;
        };
        self.samples = self.samples.saturating_add(frame.samples);
        if frame.rate > 0 {
            self.rate = frame.rate;
        }
        self.skip = frame
            .bytes
            .saturating_sub(crate::tokens::count(HEADER_BYTES));
    }
}

fn frame_header(header: &[u8]) -> Option<FrameHeader> {
    match header {
        [b'I', b'D', b'3', _, _, _, a, b, c, d] => {
            let size = [a, b, c, d]
                .into_iter()
                .fold(0u64, |size, byte| (size << 7) | u64::from(byte & 0x7f));
            Some(FrameHeader {
                bytes: size.saturating_add(10),
                samples: 0,
                rate: 0,
            })
        }
        [0xff, second, ..] if second & 0xf6 == 0xf0 => adts(header),
        [0xff, second, third, ..] if second & 0xe0 == 0xe0 => mp3(*second, *third),
        _ => None,
    }
}

fn adts(header: &[u8]) -> Option<FrameHeader> {
    let byte = |at: usize| header.get(at).copied().map(u64::from);
    let bytes = ((byte(3)? & 3) << 11) | (byte(4)? << 3) | (byte(5)? >> 5);
    let rate = usize::try_from((byte(2)? >> 2) & 0xf).ok()?;
    Some(FrameHeader {
        bytes,
        samples: 1_024,
        rate: *AAC_RATES.get(rate)?,
    })
}

fn mp3(second: u8, third: u8) -> Option<FrameHeader> {
    let (is_first, divisor) = match (second >> 3) & 3 {
        3 => (true, 1),
        2 => (false, 2),
        0 => (false, 4),
        _ => return None,
    };
    let rate = MP3_RATES.get(usize::from((third >> 2) & 3))? / divisor;
    let (table, samples) = if is_first {
        (FAST_KILOBITS, 1_152)
    } else {
        (SLOW_KILOBITS, 576)
    };
    let kilobits = *table.get(usize::from(third >> 4))?;
    let whole = (samples / 8u64)
        .saturating_mul(kilobits)
        .saturating_mul(1_000);
    let padding = u64::from((third >> 1) & 1);
    let bytes = whole.checked_div(rate)?.saturating_add(padding);
    // A free bitrate tells no length.
    (kilobits > 0).then_some(FrameHeader {
        bytes,
        samples,
        rate,
    })
}
