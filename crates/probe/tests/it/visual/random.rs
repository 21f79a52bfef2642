//! Whatever is given, it comes to an end within its bounds and without a panic.

use proptest::collection::vec;
use proptest::prelude::*;
use trunkline_probe::visual::{MAX_LENGTH_MS, MAX_STEPS, Probe, Step};

use crate::visual::driver::{FEED_MODES, File, run};
use crate::visual::writer::{
    Track, Traf, ftyp, mdat, moof, moov, moov_to_come, sidx, sound, video,
};

/// Files with everything in them.
fn samples() -> Vec<Vec<u8>> {
    let edits = vec![(100, -1, 1), (4000, 512, 1), (0, 0, 1)];
    let track = Track {
        edits,
        shift: Some(512),
        ..video(12_800, &[(125, 512), (3, 7)])
    };
    let wide = Track {
        is_wide: true,
        ..track.clone()
    };
    let later = Track {
        samples: Vec::new(),
        ..track.clone()
    };
    let timed = Traf {
        id: 1,
        start: Some(9),
        timed: vec![(512, 9), (512, -9)],
        ..Traf::default()
    };
    let plain = Traf {
        id: 1,
        default: Some(256),
        plain: 9,
        ..Traf::default()
    };
    let parts = [moof(&[timed, plain]), mdat(60)].concat();
    let begin = [ftyp(b"iso6"), moov_to_come(&[later], &[(1, 512)], None)].concat();
    let index = sidx(1, 12_800, 0, &[(parts.len(), 5000)]);
    vec![
        [ftyp(b"isom"), moov(&[track, sound(9)]), mdat(50)].concat(),
        [ftyp(b"qt  "), mdat(50), moov(&[wide])].concat(),
        [begin.clone(), parts.clone(), parts.clone()].concat(),
        [begin, index, parts.clone(), parts].concat(),
        b"\xff\xd8\xff\xe1\0\x22Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\xff\xc0\0\x11\x08\0\x05\0\x04".to_vec(),
        b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x05\0\0\x05\0\0".to_vec(),
    ]
}

fn check(bytes: &[u8]) {
    let file = File {
        head: bytes,
        gap: 0,
        tail: &[],
    };
    for manner in FEED_MODES {
        let found = run(&file, manner);
        assert!(found.needs <= MAX_STEPS as usize + 1);
        if let Ok(measured) = found.outcome {
            assert!(measured.length_ms.unwrap_or(0) <= MAX_LENGTH_MS);
            assert!(
                measured
                    .size
                    .is_none_or(|size| size.width > 0 && size.height > 0)
            );
        }
    }
}

#[test]
fn a_file_that_is_cut_anywhere_ends_without_a_panic() {
    for sample in samples() {
        for length in 0..=sample.len() {
            check(&sample[..length]);
        }
    }
}

#[test]
fn a_server_that_sends_unrequested_ranges_exhausts_no_budget() {
    let mut probe = Probe::new(None);
    let mut steps = 0;
    while let Step::Need(need) = probe.step() {
        probe.push(need.start + 1, &[0; 100]);
        steps += 1;
        assert!(steps <= MAX_STEPS);
    }
    // One box after the other, each told to be the last before a far one.
    let mut probe = Probe::new(None);
    let mut bytes: u64 = 0;
    while let Step::Need(need) = probe.step() {
        let head = [&0x10_0000_u32.to_be_bytes()[..], b"free"].concat();
        let part = head.repeat(usize::try_from(need.length).unwrap().div_ceil(8));
        bytes += need.length;
        probe.push(need.start, &part);
    }
    assert!(bytes <= trunkline_probe::visual::MAX_BYTES, "{bytes}");
    assert!(matches!(probe.step(), Step::Failed(_)));
}

proptest! {
    #[test]
    fn random_bytes_end_without_a_panic(bytes in vec(any::<u8>(), 0..400), which in 0_usize..7) {
        let heads: [&[u8]; 7] = [
            b"", b"\0\0\0\x08ftyp", b"\0\0\0\0moov", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBP", b"BM",
            b"\0\0\0\x10ftypheic\0\0\0\0\0\0\x10\0meta",
        ];
        check(&[heads[which], &bytes].concat());
    }

    #[test]
    fn a_file_with_bytes_that_were_changed_ends_without_a_panic(
        which in 0_usize..6,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = samples().swap_remove(which);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        check(&bytes);
    }

    #[test]
    fn a_length_is_what_its_samples_sum_to(
        timescale in 1_u32..200_000,
        samples in vec((1_u32..2000, 1_u32..4000), 1..20),
        is_in_front in any::<bool>(),
    ) {
        let ticks: u128 = samples.iter().map(|(count, each)| u128::from(*count) * u128::from(*each)).sum();
        let scale = u128::from(timescale);
        let true_ms = (ticks * 2000 + scale) / (scale * 2);
        prop_assume!(true_ms > 0 && true_ms <= u128::from(MAX_LENGTH_MS));
        let movie = moov(&[video(timescale, &samples)]);
        let file = if is_in_front {
            [ftyp(b"isom"), movie, mdat(100)].concat()
        } else {
            [ftyp(b"isom"), mdat(100), movie].concat()
        };
        let found = crate::visual::driver::measure("random samples", &file).unwrap();
        prop_assert_eq!(found.length_ms.map(u128::from), Some(true_ms));
    }
}
