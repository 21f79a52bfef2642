//! Random bytes, and files with some of their bytes changed.

use proptest::prelude::*;
use trunkline_probe::{SpeechFormat, StreamMeter};

use crate::support::{file, truths, try_hear, walk};

const FORMATS: [SpeechFormat; 6] = [
    SpeechFormat::Mp3,
    SpeechFormat::Opus,
    SpeechFormat::Aac,
    SpeechFormat::Flac,
    SpeechFormat::Wav,
    SpeechFormat::Pcm { rate: 24_000 },
];

/// What files begin with, so that random bytes get further than the first look.
const MAGICS: [&[u8]; 9] = [
    b"",
    b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0",
    b"fLaC\x80\0\0\x22",
    b"OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead",
    b"\0\0\0\x08ftyp\0\0\x10\0moov\0\0\x0F\0trak",
    b"\0\0\0\x08ftyp\0\0\x10\0moof\0\0\x0F\0traf",
    b"\x1A\x45\xDF\xA3\x80\x18\x53\x80\x67\xFF\x16\x54\xAE\x6B\xFF\xAE\xFF",
    b"\xFF\xFB\x90\x00",
    b"ID3\x04\0\0\0\0\0\x05",
];

/// Whether a length, if there is one, is such as so many bytes can have. The most is FLAC at one sample
/// a second, 65,536 of them in ten bytes, and a packet of AAC or ALAC in one byte.
fn is_possible(bytes: &[u8]) -> bool {
    let most = u64::try_from(bytes.len()).expect("a size") * 65_536;
    try_hear(bytes).is_ok_and(|measured| measured.length.whole_seconds() <= most)
        || try_hear(bytes).is_err()
}

/// A file of the corpus with some bytes changed and its end cut off.
fn changed() -> impl Strategy<Value = Vec<u8>> {
    let count = truths().len();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..24);
    (
        0..count,
        changes,
        any::<prop::sample::Index>(),
        any::<bool>(),
    )
        .prop_map(|(which, changes, end, is_cut)| {
            let mut bytes = file(&truths()[which].file);
            // Most of what matters stands at the start.
            for (at, (place, value)) in changes.into_iter().enumerate() {
                let most = if at % 2 == 0 {
                    bytes.len()
                } else {
                    bytes.len().min(600)
                };
                bytes[place.index(most)] = value;
            }
            if is_cut {
                bytes.truncate(end.index(bytes.len()));
            }
            bytes
        })
}

/// The length of a stream that is cut at these places.
fn walk_cut(format: SpeechFormat, bytes: &[u8], cuts: &[usize]) -> Option<u64> {
    let mut meter = StreamMeter::new(format);
    let mut rest = bytes;
    for cut in cuts.iter().cycle() {
        let (piece, later) = rest.split_at((*cut).min(rest.len()));
        meter.push(piece);
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    meter.length().map(|length| length.nanos())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_bytes_are_never_longer_than_bytes_can_be(
        bytes in prop::collection::vec(any::<u8>(), 0..4_000),
    ) {
        for magic in MAGICS {
            let bytes = [magic, &bytes].concat();
            prop_assert!(is_possible(&bytes), "{:?}", try_hear(&bytes));
        }
        for format in FORMATS {
            let whole = walk(format, &bytes, bytes.len());
            prop_assert_eq!(walk(format, &bytes, 3), whole);
        }
    }

    #[test]
    fn a_changed_file_is_never_longer_than_its_bytes_can_be(bytes in changed()) {
        prop_assert!(is_possible(&bytes), "{:?}", try_hear(&bytes));
    }

    #[test]
    fn a_stream_is_as_long_however_it_is_cut(
        bytes in changed(),
        cuts in prop::collection::vec(1_usize..9_000, 1..6),
    ) {
        for format in FORMATS {
            let whole = walk_cut(format, &bytes, &[bytes.len().max(1)]);
            prop_assert_eq!(walk_cut(format, &bytes, &cuts), whole, "{:?}", format);
        }
    }
}
