//! Files that are really videos: one track of H.264, one grey frame of 16 by 16 pixels that is shown
//! for the whole length at 1280 by 720, no sound. Small enough to make at every download, and any player knows them.

/// How a clip is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    Mp4,
    Mov,
    /// The first bytes of a `WebM`, for code that sniffs file types.
    Webm,
}

/// Ticks of a second.
const TIMESCALE: u32 = 1_000;
/// The size that the file tells and at which it is shown: vendors refuse clips that are too small. The
/// stream inside has one macroblock, which players stretch.
const DISPLAY_SIZE: [u16; 2] = [1_280, 720];
/// Baseline profile, level 1, 16 by 16: the sequence parameters.
const SEQUENCE: [u8; 6] = [0x67, 0x42, 0x00, 0x0a, 0xfb, 0x88];
/// The picture parameters: no arithmetic coding, no filter of its own.
const PICTURE: [u8; 4] = [0x68, 0xce, 0x38, 0x80];
/// The head of one slice of a whole picture, up to a macroblock whose samples are written out.
const SLICE: [u8; 5] = [0x65, 0x88, 0x84, 0x08, 0x68];
/// Samples of one macroblock: 256 of light, 128 of colour.
const SAMPLES: usize = 384;
/// Middle grey; no byte is zero, so nothing has to be escaped.
const GREY: u8 = 0x80;
/// The bit that ends a slice.
const STOP: u8 = 0x80;
/// The matrix that turns nothing.
const UPRIGHT: [u32; 9] = [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000];

/// A clip of so many thousandths of a second.
pub(crate) fn clip(wrapping: Wrapping, millis: u64) -> Vec<u8> {
    let brand: &[u8; 4] = match wrapping {
        Wrapping::Mp4 => b"isom",
        Wrapping::Mov => b"qt  ",
        Wrapping::Webm => return webm(),
    };
    let length = u32::try_from(millis).unwrap_or(u32::MAX);
    let sample = sample();
    let mut kinds = brand.to_vec();
    kinds.extend(512u32.to_be_bytes());
    kinds.extend(brand);
    kinds.extend(b"avc1");
    let kind = boxed(*b"ftyp", &kinds);
    // The sample stands behind the head of its box, which follows the first box.
    let offset = u32_of(kind.len()).saturating_add(8);
    let data = boxed(*b"mdat", &sample);
    let movie = movie(length, u32_of(sample.len()), offset);
    [kind, data, movie].concat()
}

fn webm() -> Vec<u8> {
    let head = [0x1a, 0x45, 0xdf, 0xa3, 0x87, 0x42, 0x82, 0x84];
    [head.as_slice(), b"webm"].concat()
}

/// The one picture, behind its length.
fn sample() -> Vec<u8> {
    let mut slice = SLICE.to_vec();
    slice.extend([GREY; SAMPLES]);
    slice.push(STOP);
    let mut sample = u32_of(slice.len()).to_be_bytes().to_vec();
    sample.extend(slice);
    sample
}

fn movie(length: u32, sample_bytes: u32, offset: u32) -> Vec<u8> {
    let head = numbers(&[0, 0, 0, TIMESCALE, length, 0x0001_0000, 0x0100_0000, 0, 0]);
    let rest = numbers(&[0, 0, 0, 0, 0, 0, 2]);
    let head = boxed(*b"mvhd", &[head, numbers(&UPRIGHT), rest].concat());
    let inside = [head, track(length, sample_bytes, offset)].concat();
    boxed(*b"moov", &inside)
}

fn track(length: u32, sample_bytes: u32, offset: u32) -> Vec<u8> {
    // Enabled, part of the movie and of its preview.
    let head = numbers(&[7, 0, 0, 1, 0, length, 0, 0, 0, 0]);
    let display_size = DISPLAY_SIZE.map(|side| u32::from(side) << 16);
    let head = [head, numbers(&UPRIGHT), numbers(&display_size)].concat();
    let undetermined: u32 = 0x55c4_0000;
    let media = numbers(&[0, 0, 0, TIMESCALE, length, undetermined]);
    let mut handler = numbers(&[0, 0]);
    handler.extend(b"vide");
    handler.extend(numbers(&[0, 0, 0]));
    handler.extend(b"video\0");
    let own_file = boxed(*b"url ", &numbers(&[1]));
    let references = boxed(*b"dref", &[numbers(&[0, 1]), own_file].concat());
    let information = [
        boxed(*b"vmhd", &numbers(&[1, 0, 0])),
        boxed(*b"dinf", &references),
        table(length, sample_bytes, offset),
    ];
    let media = [
        boxed(*b"mdhd", &media),
        boxed(*b"hdlr", &handler),
        boxed(*b"minf", &information.concat()),
    ];
    let track = [boxed(*b"tkhd", &head), boxed(*b"mdia", &media.concat())];
    boxed(*b"trak", &track.concat())
}

/// Where the one sample is, and how long it is shown.
fn table(length: u32, sample_bytes: u32, offset: u32) -> Vec<u8> {
    let entry = boxed(
        *b"avc1",
        &[entry(), boxed(*b"avcC", &configuration())].concat(),
    );
    let parts = [
        boxed(*b"stsd", &[numbers(&[0, 1]), entry].concat()),
        boxed(*b"stts", &numbers(&[0, 1, 1, length])),
        boxed(*b"stsc", &numbers(&[0, 1, 1, 1, 1])),
        boxed(*b"stsz", &numbers(&[0, sample_bytes, 1])),
        boxed(*b"stco", &numbers(&[0, 1, offset])),
    ];
    boxed(*b"stbl", &parts.concat())
}

/// The fields of a visual sample entry.
fn entry() -> Vec<u8> {
    let mut entry = numbers(&[0, 1, 0, 0, 0, 0]);
    entry.extend(DISPLAY_SIZE.into_iter().flat_map(u16::to_be_bytes));
    // 72 points an inch each way, one frame a sample, no name of a compressor.
    entry.extend(numbers(&[0x0048_0000, 0x0048_0000, 0]));
    entry.extend(1u16.to_be_bytes());
    entry.extend([0; 32]);
    entry.extend(0x0018_ffffu32.to_be_bytes());
    entry
}

/// What a decoder must know: lengths of four bytes, one set of each parameters.
fn configuration() -> Vec<u8> {
    let mut bytes = vec![1, 0x42, 0x00, 0x0a, 0xff, 0xe1, 0];
    bytes.extend(u8::try_from(SEQUENCE.len()).ok());
    bytes.extend(SEQUENCE);
    bytes.extend([1, 0]);
    bytes.extend(u8::try_from(PICTURE.len()).ok());
    bytes.extend(PICTURE);
    bytes
}

fn boxed(name: [u8; 4], inside: &[u8]) -> Vec<u8> {
    let length = u32_of(inside.len()).saturating_add(8);
    [&length.to_be_bytes(), &name, inside].concat()
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_be_bytes())
        .collect()
}

fn u32_of(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
