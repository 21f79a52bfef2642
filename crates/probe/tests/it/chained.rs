//! Ogg: pages that lie, are lost, or belong to streams behind each other.

use crate::support::{file, find_all, hear, put, samples, truth, try_hear};

const GRANULE: usize = 6;
const SERIAL: usize = 14;

/// The granule of the last page, changed.
fn with_last_granule(name: &str, granule: u64) -> Vec<u8> {
    let mut bytes = file(name);
    let last = *find_all(&bytes, b"OggS").last().expect("a page");
    put(&mut bytes, last + GRANULE, &granule.to_le_bytes());
    bytes
}

#[test]
fn a_last_granule_that_lies_changes_less_than_a_packet() {
    for (name, packet) in [
        ("one-page.opus", 960),
        ("second.opus", 960),
        ("vorbis.ogg", 2_048),
    ] {
        let truth = truth(name);
        for lie in [0, 1, truth.samples / 2, truth.samples * 10, u64::MAX >> 1] {
            let measured = samples(&with_last_granule(name, lie), truth.rate);
            let over = measured.checked_sub(truth.samples);
            assert!(
                over.is_some_and(|over| over < packet),
                "{name}: {measured} for {lie}"
            );
        }
    }
}

#[test]
fn granules_that_begin_late_make_nothing_longer_or_shorter() {
    let mut bytes = file("vorbis.ogg");
    for page in find_all(&bytes, b"OggS").into_iter().skip(2) {
        let place = page + GRANULE;
        let granule = u64::from_le_bytes(bytes[place..place + 8].try_into().expect("eight"));
        if granule != u64::MAX {
            put(&mut bytes, place, &(granule + 1_000_000).to_le_bytes());
        }
    }
    let (measured, truth) = (samples(&bytes, 16_000), truth("vorbis.ogg"));
    assert!(
        measured >= truth.samples && measured < truth.samples + 1_024,
        "{measured}"
    );
}

#[test]
fn streams_behind_each_other_add_up() {
    let names = ["second.opus", "vorbis.ogg", "second.opus", "flac.oga"];
    let bytes = names.map(file).concat();
    let whole: u64 = names.iter().map(|name| truth(name).length().nanos()).sum();
    assert_eq!(hear(&bytes).length.nanos(), whole);
}

#[test]
fn streams_side_by_side_are_tracks_of_which_the_longest_counts() {
    let (short, mut long) = (file("fifth.opus"), file("second.opus"));
    for page in find_all(&long, b"OggS") {
        put(&mut long, page + SERIAL, b"long");
    }
    let second_page = |bytes: &[u8]| find_all(bytes, b"OggS")[1];
    let (short_page, long_page) = (second_page(&short), second_page(&long));
    let bytes = [
        &short[..short_page],
        &long[..long_page],
        &short[short_page..],
        &long[long_page..],
    ];
    assert_eq!(hear(&bytes.concat()).length, truth("second.opus").length());
}

#[test]
fn junk_between_pages_is_passed_over() {
    let bytes = file("second.opus");
    let page = *find_all(&bytes, b"OggS").last().expect("a page");
    let junk = b"junk OggO".repeat(100);
    let bytes = [&bytes[..page], &junk, &bytes[page..]].concat();
    assert_eq!(hear(&bytes).length, truth("second.opus").length());
}

#[test]
fn a_stream_that_was_cut_off_has_the_packets_that_are_there() {
    let bytes = file("one-page.opus");
    let cut = &bytes[..bytes.len() * 3 / 4];
    let measured = samples(cut, 48_000);
    // All but the pre-skip of 312 samples are packets of 20 ms.
    assert_eq!((measured + 312) % 960, 0);
    assert!(
        measured > 48_000 && measured < truth("one-page.opus").samples,
        "{measured}"
    );
}

#[test]
fn a_stream_of_headers_only_is_silent_and_not_broken() {
    let bytes = file("second.opus");
    let pages = find_all(&bytes, b"OggS");
    let measured = try_hear(&bytes[..pages[2]]).expect("headers");
    assert_eq!(measured.length.nanos(), 0);
}
