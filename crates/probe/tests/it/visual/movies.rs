//! Movies in one piece: every file has a length that is known, and it must be found.

use trunkline_probe::visual::{Format, MediaInfo, ProbeError, Size};

use crate::visual::driver::{FeedMode, File, measure, run};
use crate::visual::writer::{
    Track, boxed, ftyp, mdat, moov, movie_body, numbers, open_ended, sound, stts, video, wide,
};

/// Five seconds at 25 pictures a second.
pub(crate) fn five() -> Track {
    video(12_800, &[(125, 512)])
}

fn edited(edits: &[(u64, i64, i16)]) -> Track {
    let edits = edits.to_vec();
    Track { edits, ..five() }
}

pub(crate) fn mp4(tracks: &[Track]) -> Vec<u8> {
    [ftyp(b"isom"), moov(tracks), mdat(500)].concat()
}

fn length(row: &str, file: &[u8]) -> u64 {
    let measured = measure(row, file).unwrap_or_else(|reason| panic!("{row}: {reason}"));
    measured.length_ms.unwrap()
}

#[test]
fn the_length_of_every_whole_movie_is_the_true_one() {
    let tables = mp4(&[video(30_000, &[(100, 1001)])]);
    let brand = |brand| [ftyp(brand), moov(&[five()]), mdat(9)].concat();
    let rows: Vec<(&str, Vec<u8>, u64)> = vec![
        ("header in front", mp4(&[five()]), 5000),
        (
            "header at the end",
            [ftyp(b"isom"), mdat(90_000), moov(&[five()])].concat(),
            5000,
        ),
        (
            "header between",
            [ftyp(b"mp42"), mdat(9), moov(&[five()]), mdat(9)].concat(),
            5000,
        ),
        (
            "QuickTime",
            [
                ftyp(b"qt  "),
                boxed(b"wide", &[]),
                mdat(99),
                moov(&[five()]),
            ]
            .concat(),
            5000,
        ),
        (
            "QuickTime without a brand",
            [mdat(99), moov(&[five()])].concat(),
            5000,
        ),
        ("an unknown brand", brand(b"xyz!"), 5000),
        ("a brand of pictures on a movie", brand(b"msf1"), 5000),
        (
            "free space in front",
            [boxed(b"free", &[0; 9]), mp4(&[five()])].concat(),
            5000,
        ),
        (
            "a long head on the data",
            [ftyp(b"isom"), wide(b"mdat", &[1; 70]), moov(&[five()])].concat(),
            5000,
        ),
        (
            "a long head on the movie",
            [
                ftyp(b"isom"),
                wide(b"moov", &movie_body(&[five()])),
                mdat(5),
            ]
            .concat(),
            5000,
        ),
        (
            "a movie up to the end",
            [
                ftyp(b"isom"),
                mdat(50),
                open_ended(b"moov", &movie_body(&[five()])),
            ]
            .concat(),
            5000,
        ),
        (
            "data up to the end",
            [
                ftyp(b"isom"),
                moov(&[five()]),
                open_ended(b"mdat", &[1; 70]),
            ]
            .concat(),
            5000,
        ),
        (
            "wide numbers",
            mp4(&[Track {
                is_wide: true,
                ..edited(&[(5000, 0, 1)])
            }]),
            5000,
        ),
        (
            "wide numbers, longer than 32 bits",
            mp4(&[Track {
                is_wide: true,
                ..video(1_000_000, &[(10_000, 1_000_000)])
            }]),
            10_000_000,
        ),
        ("29.97 pictures a second", tables, 3337),
        (
            "samples of many lengths",
            mp4(&[video(1000, &[(10, 40), (1, 123), (7, 33), (1, 1)])]),
            755,
        ),
        (
            "half a millisecond is one",
            mp4(&[video(2000, &[(1, 1)])]),
            1,
        ),
        (
            "less than half is none",
            mp4(&[video(10_000, &[(1, 10_004)])]),
            1000,
        ),
        ("one still picture", mp4(&[video(1, &[(1, 3)])]), 3000),
        ("sound that is longer", mp4(&[five(), sound(240)]), 5120),
        ("sound that is shorter", mp4(&[sound(100), five()]), 5000),
        ("sound alone", mp4(&[sound(375)]), 8000),
        (
            "two pictures and a sound",
            mp4(&[
                five(),
                Track {
                    id: 3,
                    ..video(600, &[(3700, 1)])
                },
                sound(10),
            ]),
            6167,
        ),
        (
            "a text that is longer",
            mp4(&[
                five(),
                Track {
                    id: 3,
                    handler: b"text",
                    ..video(1, &[(1, 60)])
                },
            ]),
            5000,
        ),
        (
            "a time code that is longer",
            mp4(&[
                five(),
                Track {
                    id: 3,
                    handler: b"tmcd",
                    ..video(1, &[(1, 60)])
                },
            ]),
            5000,
        ),
        ("an edit of all", mp4(&[edited(&[(5000, 0, 1)])]), 5000),
        (
            "an edit that cuts",
            mp4(&[edited(&[(2000, 12_800, 1)])]),
            2000,
        ),
        (
            "an edit of the rest",
            mp4(&[edited(&[(0, 12_800, 1)])]),
            4000,
        ),
        (
            "an edit beyond the samples",
            mp4(&[edited(&[(9000, 0, 1)])]),
            5000,
        ),
        (
            "a pause in front",
            mp4(&[edited(&[(500, -1, 1), (5000, 0, 1)])]),
            5500,
        ),
        (
            "a piece twice",
            mp4(&[edited(&[(1000, 0, 1), (1000, 0, 1), (3000, 0, 1)])]),
            5000,
        ),
        (
            "a picture that stands still",
            mp4(&[edited(&[(5000, 0, 1), (7000, 100, 0)])]),
            12_000,
        ),
        (
            "pictures shown later",
            mp4(&[Track {
                shift: Some(1024),
                ..edited(&[(5000, 1024, 1)])
            }]),
            5000,
        ),
        (
            "sound that starts up",
            mp4(&[Track {
                edits: vec![(0, 1024, 1)],
                ..sound(235)
            }]),
            4992,
        ),
        (
            "four zeros behind a list",
            [
                ftyp(b"qt  "),
                boxed(b"moov", &[movie_body(&[five()]), vec![0; 4]].concat()),
            ]
            .concat(),
            5000,
        ),
    ];
    for (row, file, true_ms) in &rows {
        assert_eq!(length(row, file), *true_ms, "{row}");
    }
    println!("{} movies in one piece measured", rows.len());
    assert!(rows.len() >= 25);
}

#[test]
fn a_movie_tells_its_kind_brand_and_size() {
    let known = |file: &[u8]| measure("kind", file).unwrap();
    let expected = MediaInfo {
        format: Format::Mp4,
        brand: Some(*b"isom"),
        length_ms: Some(5000),
        unedited_ms: Some(5000),
        size: Some(Size {
            width: 1280,
            height: 720,
        }),
    };
    assert_eq!(known(&mp4(&[sound(10), five()])), expected);
    let cut = known(&mp4(&[edited(&[(2000, 0, 1)])]));
    assert_eq!((cut.length_ms, cut.unedited_ms), (Some(2000), Some(5000)));
    let mov = known(&[ftyp(b"qt  "), moov(&[five()])].concat());
    assert_eq!((mov.format, mov.brand), (Format::Mov, Some(*b"qt  ")));
    let old = known(&[mdat(9), moov(&[five()])].concat());
    assert_eq!((old.format, old.brand), (Format::Mov, None));
    assert_eq!(known(&mp4(&[sound(100)])).size, None);
    let turned = known(&mp4(&[Track {
        is_turned: true,
        ..five()
    }]));
    assert_eq!(
        turned.size,
        Some(Size {
            width: 720,
            height: 1280
        })
    );
    // The cover beside the movie is a picture too.
    let cover = Track {
        id: 3,
        size: (300, 300),
        ..video(1, &[(1, 1)])
    };
    assert_eq!(known(&mp4(&[cover, five()])).size, expected.size);
}

#[test]
fn only_what_is_needed_is_read_of_a_large_file() {
    let head = [
        ftyp(b"isom"),
        numbers(&[1]),
        b"mdat".to_vec(),
        (40_000_000_016_u64).to_be_bytes().to_vec(),
    ]
    .concat();
    let tail = moov(&[five()]);
    let file = File {
        head: &head,
        gap: 40_000_000_000,
        tail: &tail,
    };
    for manner in [FeedMode::Parts, FeedMode::Unknown, FeedMode::Learned] {
        let found = run(&file, manner);
        assert_eq!(found.outcome.unwrap().length_ms, Some(5000));
        assert!(found.needs <= 3, "{found:?}");
        assert!(found.bytes < 100_000, "{found:?}");
    }
}

#[test]
fn a_table_of_many_entries_is_read_up_to_its_bound() {
    let entries = vec![(1, 512); 500_000];
    let file = mp4(&[video(12_800, &entries)]);
    let file = File {
        head: &file,
        gap: 0,
        tail: &[],
    };
    for manner in [
        FeedMode::Parts,
        FeedMode::Unknown,
        FeedMode::FromStart(16_384),
    ] {
        let found = run(&file, manner).outcome.unwrap();
        assert_eq!(found.length_ms, Some(20_000_000), "{manner:?}");
    }
    let body = stts(&vec![(1, 1); 530_000]);
    let nested = ["moov", "trak", "mdia", "minf", "stbl"]
        .iter()
        .rev()
        .fold(body, |inner, name| {
            boxed(name.as_bytes().try_into().unwrap(), &inner)
        });
    assert_eq!(
        measure("too many", &[ftyp(b"isom"), nested].concat()),
        Err(ProbeError::TooLarge)
    );
}
