//! Movies in fragments.

use trunkline_probe::visual::{MediaInfo, ProbeError, Size};

use crate::visual::driver::{FeedMode, File, measure, run};
use crate::visual::writer::{
    Track, Traf, boxed, ftyp, mdat, moof, moov_to_come, open_ended, sidx, sound, video,
};

/// A track whose samples are all to come.
fn later() -> Track {
    video(12_800, &[])
}

fn later_sound() -> Track {
    Track {
        samples: Vec::new(),
        ..sound(0)
    }
}

fn start(duration: Option<u64>) -> Vec<u8> {
    [
        ftyp(b"iso6"),
        moov_to_come(&[later(), later_sound()], &[(1, 512), (2, 1024)], duration),
    ]
    .concat()
}

/// A second of pictures by the default of the movie.
fn second() -> Traf {
    Traf {
        id: 1,
        plain: 25,
        ..Traf::default()
    }
}

fn fragment(parts: &[Traf]) -> Vec<u8> {
    [moof(parts), mdat(2000)].concat()
}

fn of(row: &str, pieces: &[Vec<u8>]) -> Result<MediaInfo, ProbeError> {
    measure(row, &pieces.concat())
}

#[test]
fn the_length_of_every_movie_in_fragments_is_the_true_one() {
    let at = |second_number: u64| Traf {
        start: Some(second_number * 12_800),
        ..second()
    };
    let own = Traf {
        id: 1,
        default: Some(256),
        plain: 25,
        ..Traf::default()
    };
    let timed = Traf {
        id: 1,
        timed: vec![(500, 0), (600, 0), (180, 0)],
        ..Traf::default()
    };
    let both = Traf {
        plain: 24,
        ..timed.clone()
    };
    let sound = Traf {
        id: 2,
        plain: 50,
        ..Traf::default()
    };
    let one = fragment(&[second()]);
    let length = one.len();
    let shifted = Track {
        edits: vec![(0, 1024, 1)],
        ..later()
    };
    let shifted = [ftyp(b"iso5"), moov_to_come(&[shifted], &[(1, 512)], None)].concat();
    let shown_later = Traf {
        id: 1,
        timed: vec![(512, 1024), (512, 2560), (512, 0)],
        ..Traf::default()
    };
    let hybrid = [
        ftyp(b"iso5"),
        moov_to_come(&[video(12_800, &[(50, 512)])], &[(1, 512)], None),
    ]
    .concat();
    let other_index = sidx(2, 48_000, 0, &[(length, 100_000)]);
    let rows: Vec<(&str, Vec<Vec<u8>>, u64)> = vec![
        (
            "told by the header",
            vec![start(Some(7250)), one.clone()],
            7250,
        ),
        ("told by the header alone", vec![start(Some(61))], 61),
        (
            "told to be nothing",
            vec![start(Some(0)), one.clone(), one.clone()],
            2000,
        ),
        (
            "by the default of the movie",
            vec![start(None), one.clone(), one.clone(), one.clone()],
            3000,
        ),
        (
            "by the default of the fragment",
            vec![start(None), fragment(&[own])],
            500,
        ),
        ("by the samples", vec![start(None), fragment(&[timed])], 100),
        ("by both", vec![start(None), fragment(&[both])], 1060),
        (
            "with times",
            vec![start(None), fragment(&[at(0)]), fragment(&[at(1)])],
            2000,
        ),
        (
            "a recording that began earlier",
            vec![start(None), fragment(&[at(900)]), fragment(&[at(901)])],
            2000,
        ),
        (
            "with a gap",
            vec![start(None), fragment(&[at(0)]), fragment(&[at(3)])],
            4000,
        ),
        (
            "out of order",
            vec![start(None), fragment(&[at(1)]), fragment(&[at(0)])],
            2000,
        ),
        (
            "two tracks, the sound longer",
            vec![start(None), fragment(&[second(), sound.clone()])],
            1067,
        ),
        (
            "two tracks, in turn",
            vec![start(None), one.clone(), fragment(&[sound]), one.clone()],
            2000,
        ),
        (
            "two runs of a track in a fragment",
            vec![start(None), fragment(&[second(), second()])],
            2000,
        ),
        (
            "a list of access behind it",
            vec![start(None), one.clone(), boxed(b"mfra", &[0; 50])],
            1000,
        ),
        (
            "marks between",
            vec![
                start(None),
                boxed(b"styp", b"msdh"),
                one.clone(),
                boxed(b"emsg", &[0; 30]),
                one.clone(),
            ],
            2000,
        ),
        (
            "data up to the end",
            vec![
                start(None),
                one.clone(),
                moof(&[second()]),
                open_ended(b"mdat", &[1; 60]),
            ],
            2000,
        ),
        (
            "an index of all",
            vec![
                start(None),
                sidx(1, 12_800, 0, &[(length, 12_800), (length, 12_800)]),
                one.clone(),
                one.clone(),
            ],
            2000,
        ),
        (
            "an index in other ticks",
            vec![
                start(None),
                sidx(1, 1000, 0, &[(length * 2, 2000)]),
                one.clone(),
                one.clone(),
            ],
            2000,
        ),
        (
            "an index for each fragment",
            vec![
                start(None),
                sidx(1, 12_800, 0, &[(length, 12_800)]),
                one.clone(),
                sidx(1, 12_800, 0, &[(length, 12_800)]),
                one.clone(),
            ],
            2000,
        ),
        (
            "an index of the beginning",
            vec![
                start(None),
                sidx(1, 12_800, 0, &[(length, 12_800)]),
                one.clone(),
                one.clone(),
            ],
            2000,
        ),
        (
            "an index of each track",
            vec![
                start(None),
                sidx(
                    1,
                    12_800,
                    u32::try_from(other_index.len()).unwrap(),
                    &[(length, 12_800)],
                ),
                other_index,
                one.clone(),
            ],
            2083,
        ),
        (
            "an index of an unknown track",
            vec![
                start(None),
                sidx(9, 1000, 0, &[(length, 9000)]),
                one.clone(),
            ],
            1000,
        ),
        (
            "an index of pictures shown later",
            vec![
                shifted.clone(),
                sidx(1, 12_800, 0, &[(length, 12_800)]),
                one.clone(),
            ],
            1000,
        ),
        (
            "pictures shown later",
            vec![shifted, fragment(&[shown_later])],
            120,
        ),
        ("begun in the header", vec![hybrid, one], 3000),
    ];
    for (row, pieces, true_ms) in &rows {
        let found = of(row, pieces).unwrap_or_else(|reason| panic!("{row}: {reason}"));
        assert_eq!(found.length_ms, Some(*true_ms), "{row}");
        assert_eq!(
            found.size,
            Some(Size {
                width: 1280,
                height: 720
            }),
            "{row}"
        );
    }
    println!("{} movies in fragments measured", rows.len());
}

#[test]
fn fragments_that_are_broken_have_no_length() {
    let one = fragment(&[second()]);
    let length = one.len();
    let cut = |bytes: &[u8]| bytes[..bytes.len() - 1].to_vec();
    let stranger = Traf {
        id: 7,
        default: Some(5),
        plain: 3,
        ..Traf::default()
    };
    let late = Traf {
        start: Some(u64::MAX),
        ..second()
    };
    let no_default = [ftyp(b"iso6"), moov_to_come(&[later()], &[(9, 512)], None)].concat();
    let nameless = boxed(b"moof", &boxed(b"traf", &boxed(b"trun", &[0; 12])));
    let rows: Vec<(&str, Vec<Vec<u8>>, ProbeError)> = vec![
        (
            "cut in the data",
            vec![start(None), one.clone(), cut(&one)],
            ProbeError::Truncated,
        ),
        (
            "cut in a run",
            vec![start(None), cut(&moof(&[second()]))],
            ProbeError::Truncated,
        ),
        (
            "an index beyond the end",
            vec![
                start(None),
                sidx(1, 12_800, 0, &[(length + 1, 12_800)]),
                one.clone(),
            ],
            ProbeError::Truncated,
        ),
        (
            "an index without a clock",
            vec![start(None), sidx(1, 0, 0, &[(length, 12_800)]), one.clone()],
            ProbeError::Malformed,
        ),
        (
            "fragments without a movie",
            vec![ftyp(b"iso6"), one.clone()],
            ProbeError::NoMovie,
        ),
        (
            "an index without a movie",
            vec![ftyp(b"iso6"), sidx(1, 1, 0, &[(9, 9)]), one.clone()],
            ProbeError::NoMovie,
        ),
        (
            "a movie without fragments",
            vec![start(None)],
            ProbeError::NoLength,
        ),
        (
            "an unknown track",
            vec![start(None), fragment(&[stranger])],
            ProbeError::Malformed,
        ),
        (
            "a run of no track",
            vec![start(None), nameless],
            ProbeError::Malformed,
        ),
        (
            "samples without a length",
            vec![no_default, one.clone()],
            ProbeError::Malformed,
        ),
        (
            "a time beyond all numbers",
            vec![start(None), fragment(&[late])],
            ProbeError::TooLong,
        ),
        (
            "a length beyond reason",
            vec![start(Some(u64::MAX)), one],
            ProbeError::TooLong,
        ),
        (
            "two movies",
            vec![start(None), start(None)],
            ProbeError::Malformed,
        ),
    ];
    for (row, pieces, reason) in &rows {
        let bytes = pieces.concat();
        let file = File {
            head: &bytes,
            gap: 0,
            tail: &[],
        };
        for manner in [FeedMode::Parts, FeedMode::Learned, FeedMode::FromStart(700)] {
            assert_eq!(
                run(&file, manner).outcome,
                Err(*reason),
                "{row}, {manner:?}"
            );
        }
    }
}

#[test]
fn an_index_spares_the_reading_of_fragments() {
    let one = fragment(&[second()]);
    let large = [one.clone(), boxed(b"mdat", &vec![0; 3_000_000])].concat();
    let index = sidx(
        1,
        12_800,
        0,
        &[(large.len(), 12_800), (large.len(), 12_800)],
    );
    let with = [start(None), index, large.clone(), large.clone()].concat();
    let without = [start(None), large.clone(), large].concat();
    let cost = |bytes: &[u8]| {
        let found = run(
            &File {
                head: bytes,
                gap: 0,
                tail: &[],
            },
            FeedMode::Parts,
        );
        assert_eq!(found.outcome.unwrap().length_ms, Some(2000));
        (found.needs, found.bytes)
    };
    let (needs, bytes) = cost(&with);
    assert!(needs == 1 && bytes <= 65_536, "{needs} {bytes}");
    let (needs, bytes) = cost(&without);
    assert!(needs <= 3 && bytes < 140_000, "{needs} {bytes}");
}
