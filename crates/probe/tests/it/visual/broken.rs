//! Movies that are broken, and files that are none.

use trunkline_probe::visual::ProbeError;

use crate::visual::driver::{FeedMode, File, measure, run};
use crate::visual::movies::{five, mp4};
use crate::visual::writer::{
    Track, boxed, ftyp, mdat, moov, mvhd, numbers, open_ended, sound, trak, video, wide,
};

#[test]
fn what_is_broken_or_no_movie_has_no_length() {
    let good = mp4(&[five()]);
    let end = |file: &[u8], count: usize| file[..file.len() - count].to_vec();
    let at_end = [ftyp(b"isom"), mdat(900), moov(&[five()])].concat();
    let claims = |length: u32, name: &[u8; 4]| [&length.to_be_bytes()[..], name, &[0; 40]].concat();
    let huge = |name: &[u8; 4]| {
        [
            &1_u32.to_be_bytes()[..],
            name,
            &u64::MAX.to_be_bytes(),
            &[0; 40],
        ]
        .concat()
    };
    let mut bomb = Vec::new();
    for _ in 0..10_000 {
        bomb = boxed(b"moov", &bomb);
    }
    let tiny = [ftyp(b"isom"), boxed(b"free", &[]).repeat(100_001)].concat();
    let in_movie = |body: &[u8]| [ftyp(b"isom"), boxed(b"moov", body)].concat();
    let no_clock = [mvhd(5000, false), trak(&video(0, &[(1, 1)]))].concat();
    let liar = boxed(
        b"moov",
        &[&9_999_u32.to_be_bytes()[..], b"trak", &[0; 60]].concat(),
    );
    let edits = [numbers(&[0, u32::MAX]), vec![0; 120]].concat();
    let edits = boxed(b"trak", &boxed(b"edts", &boxed(b"elst", &edits)));
    let count = boxed(b"stts", &numbers(&[0, u32::MAX, 1, 1]));
    let count = ["trak", "mdia", "minf", "stbl"]
        .iter()
        .rev()
        .fold(count, |inner, name| {
            boxed(name.as_bytes().try_into().unwrap(), &inner)
        });
    let rows: Vec<(&str, Vec<u8>, ProbeError)> = vec![
        (
            "a movie that is cut",
            end(&at_end, 1),
            ProbeError::Truncated,
        ),
        (
            "a movie that is cut in its head",
            end(&at_end, moov(&[five()]).len() - 3),
            ProbeError::Truncated,
        ),
        (
            "data that is cut before the movie",
            [ftyp(b"isom"), end(&mdat(900), 100)].concat(),
            ProbeError::Truncated,
        ),
        (
            "no movie",
            [ftyp(b"isom"), mdat(900)].concat(),
            ProbeError::NoMovie,
        ),
        (
            "data up to the end and no movie",
            [ftyp(b"isom"), open_ended(b"mdat", &[0; 90])].concat(),
            ProbeError::NoMovie,
        ),
        ("an empty movie", in_movie(&[]), ProbeError::NoLength),
        (
            "a claim without tracks",
            in_movie(&mvhd(5000, false)),
            ProbeError::NoLength,
        ),
        (
            "tracks without samples",
            mp4(&[video(1000, &[])]),
            ProbeError::NoLength,
        ),
        (
            "a clock that stands",
            in_movie(&no_clock),
            ProbeError::Malformed,
        ),
        (
            "a box shorter than its head",
            [ftyp(b"isom"), claims(7, b"mdat")].concat(),
            ProbeError::Malformed,
        ),
        (
            "a long box shorter than its head",
            [
                ftyp(b"isom"),
                wide(b"mdat", &[])
                    .iter()
                    .enumerate()
                    .map(|(at, byte)| if at == 15 { 15 } else { *byte })
                    .collect(),
            ]
            .concat(),
            ProbeError::Malformed,
        ),
        (
            "a box larger than the file",
            [ftyp(b"isom"), claims(u32::MAX, b"moov")].concat(),
            ProbeError::Truncated,
        ),
        (
            "a box larger than all numbers",
            [ftyp(b"isom"), huge(b"mdat")].concat(),
            ProbeError::Malformed,
        ),
        (
            "a box larger than the one around it",
            [ftyp(b"isom"), liar].concat(),
            ProbeError::Malformed,
        ),
        ("movies in movies", bomb, ProbeError::NoLength),
        ("boxes without end", tiny, ProbeError::TooManyParts),
        (
            "tracks without end",
            in_movie(&boxed(b"trak", &[]).repeat(129)),
            ProbeError::TooManyParts,
        ),
        (
            "edits without end",
            in_movie(&edits),
            ProbeError::TooManyParts,
        ),
        (
            "a table that claims more than it has",
            in_movie(&count),
            ProbeError::Malformed,
        ),
        (
            "a length beyond reason",
            mp4(&[video(1, &[(u32::MAX, u32::MAX)])]),
            ProbeError::TooLong,
        ),
        (
            "lengths beyond all numbers",
            mp4(&[
                Track {
                    is_wide: true,
                    ..video(1, &[(u32::MAX, 1), (1, 2)])
                },
                sound(1),
            ]),
            ProbeError::TooLong,
        ),
        (
            "a packed header",
            in_movie(&boxed(b"cmov", &[0; 90])),
            ProbeError::Compressed,
        ),
        (
            "a page",
            b"<!doctype html><html></html>".to_vec(),
            ProbeError::UnknownFormat,
        ),
        (
            "Matroska",
            b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81".to_vec(),
            ProbeError::UnknownFormat,
        ),
        ("nothing", Vec::new(), ProbeError::Truncated),
        (
            "a head and nothing behind it",
            ftyp(b"isom"),
            ProbeError::NoMovie,
        ),
    ];
    for (row, file, reason) in &rows {
        // Where the length is not known, a cut file cannot always be told from one that ends.
        let whole = File {
            head: file,
            gap: 0,
            tail: &[],
        };
        for manner in [FeedMode::Parts, FeedMode::Learned] {
            assert_eq!(
                run(&whole, manner).outcome,
                Err(*reason),
                "{row}, {manner:?}"
            );
        }
        let blind = run(&whole, FeedMode::Unknown).outcome;
        let is_cut = *reason == ProbeError::Truncated;
        assert!(is_cut || blind.is_err(), "{row}: {blind:?}");
    }
    assert!(measure("the good one", &good).is_ok());
    println!("{} broken movies refused", rows.len());
}
