//! Streams of the corpus, cut where the network may cut them.

use trunkline_wire::Format;
use trunkline_wire::canonical::TranslationState;

use crate::pairs::corpus::cases;
use crate::pairs::translate::{events, frames, streamed};

/// How far behind the first cut the second one is.
const SECOND: [usize; 3] = [1, 2, 97];

#[test]
fn a_stream_tells_the_same_wherever_its_bytes_are_cut() {
    for case in cases() {
        let Some((from, bytes)) = &case.stream else {
            continue;
        };
        let whole = frames(&[bytes]);
        let joined: Vec<u8> = whole.iter().flat_map(|frame| frame.raw.to_vec()).collect();
        assert!(joined == *bytes, "{}: no byte is lost", case.name);
        // A cut is felt by the frame it is in and by its neighbours; each is cut at every byte.
        for near in whole.windows(3.min(whole.len())) {
            let bytes: Vec<u8> = near.iter().flat_map(|frame| frame.raw.to_vec()).collect();
            for first in 0..bytes.len() {
                let second = first.saturating_add(SECOND[first % SECOND.len()]);
                let (head, rest) = bytes.split_at(first);
                let (middle, tail) = rest.split_at(second.min(bytes.len()) - first);
                assert!(
                    frames(&[head, middle, tail]) == near,
                    "{}: cut at {first} and {second}",
                    case.name
                );
            }
        }
        let bytewise: Vec<&[u8]> = bytes.chunks(1).collect();
        assert!(events(*from, &bytewise) == events(*from, &[bytes]));
    }
}

#[test]
fn every_caller_gets_the_same_bytes_wherever_a_stream_is_cut() {
    for case in cases() {
        let Some((from, bytes)) = &case.stream else {
            continue;
        };
        for to in Format::ALL {
            let whole = streamed(*from, to, &[bytes], &TranslationState::default());
            for size in [1, 2, 3, 7, 64] {
                let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
                let cut = streamed(*from, to, &pieces, &TranslationState::default());
                assert!(cut == whole, "{} for {}: {size}", case.name, to.as_str());
            }
        }
    }
}
