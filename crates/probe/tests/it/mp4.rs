//! MP4: headers that lie, edit lists that hide, tables that name what is not there.

use trunkline_probe::MeasureError;

use crate::support::{file, find, find_all, hear, put, samples, truth, try_hear};

const FILES: [&str; 4] = ["end.m4a", "faststart.m4a", "video.mp4", "fragments.mp4"];

/// Where the body of a box begins, by its name.
fn body(bytes: &[u8], name: &[u8; 4]) -> usize {
    find(bytes, name) + 4
}

#[test]
fn durations_in_headers_are_not_believed() {
    for name in FILES {
        for lie in [0_u32, 1, u32::MAX] {
            let mut bytes = file(name);
            for (header, place) in [(b"mvhd", 16), (b"mdhd", 16), (b"tkhd", 20)] {
                for at in find_all(&bytes, header) {
                    put(&mut bytes, at + 4 + place, &lie.to_be_bytes());
                }
            }
            assert_eq!(hear(&bytes).length, truth(name).length(), "{name}");
        }
    }
}

/// A second of sound whose file does not say what its encoder added. One sample more is billed where the file says.
#[test]
fn silence_that_a_file_does_not_declare_is_counted_and_not_billed() {
    for (name, seconds) in [("dash.mp4", 1), ("aac.mka", 1), ("second-and-one.m4a", 2)] {
        let measured = hear(&file(name));
        assert_eq!(measured.length, truth(name).length(), "{name}");
        assert_eq!(measured.billed_seconds(), seconds, "{name}");
    }
}

#[test]
fn times_of_packets_take_away_no_more_than_a_packet() {
    let truth = truth("faststart.m4a");
    let mut bytes = file("faststart.m4a");
    let table = body(&bytes, b"stts");
    let count = bytes[table + 7];
    for entry in 0..usize::from(count) {
        // Every packet is to play for one tick.
        put(&mut bytes, table + 12 + entry * 8, &1_u32.to_be_bytes());
    }
    let measured = samples(&bytes, 16_000);
    assert!(measured > truth.samples - 1_024, "{measured}");
}

#[test]
fn an_edit_list_that_hides_most_of_a_file_makes_it_no_shorter() {
    let truth = truth("faststart.m4a");
    let list = body(&file("faststart.m4a"), b"elst");
    let with_edit = |length: u32, start: u32| {
        let mut bytes = file("faststart.m4a");
        put(&mut bytes, list + 8, &length.to_be_bytes());
        put(&mut bytes, list + 12, &start.to_be_bytes());
        samples(&bytes, 16_000)
    };
    // Only a start within the priming is believed.
    assert_eq!(with_edit(1, 1_024), truth.samples);
    assert_eq!(with_edit(1, 30_000), truth.samples + 1_024);
    assert_eq!(with_edit(1, 3_137), truth.samples + 1_024);
    assert_eq!(with_edit(1, 3_136), truth.samples - 2_112);
    assert_eq!(with_edit(1, u32::MAX), truth.samples + 1_024);
}

#[test]
fn the_ticks_of_a_track_change_less_than_its_ends() {
    let truth = truth("faststart.m4a");
    for lie in [0_u32, 1, 8_000, 1_000_000_000] {
        let mut bytes = file("faststart.m4a");
        let ticks = body(&bytes, b"mdhd") + 12;
        put(&mut bytes, ticks, &lie.to_be_bytes());
        let measured = samples(&bytes, 16_000);
        assert!(
            measured + 3_136 >= truth.samples && measured <= truth.samples + 2_048,
            "{lie}: {measured}"
        );
    }
}

#[test]
fn packets_that_were_cut_off_do_not_count() {
    for name in ["faststart.m4a", "fragments.mp4"] {
        let (bytes, truth) = (file(name), truth(name));
        let half = samples(&bytes[..bytes.len() * 2 / 3], 16_000);
        assert_eq!(half % 1_024, 0, "{name}: {half}");
        assert!(
            half > 8_000 && half < truth.samples - 4_000,
            "{name}: {half}"
        );
    }
}

#[test]
fn a_file_without_its_last_box_cannot_be_measured() {
    let bytes = file("end.m4a");
    let tables = find(&bytes, b"moov") - 4;
    assert_eq!(try_hear(&bytes[..tables]), Err(MeasureError::Broken));
}

#[test]
fn packets_that_lie_upon_each_other_are_refused() {
    let mut bytes = file("faststart.m4a");
    let sizes = body(&bytes, b"stsz");
    let size = u32::try_from(bytes.len() / 2).expect("a size");
    // Every packet is half of the file.
    put(&mut bytes, sizes + 4, &size.to_be_bytes());
    let chunks = body(&bytes, b"stco");
    put(&mut bytes, chunks + 8, &0_u32.to_be_bytes());
    let runs = body(&bytes, b"stsc");
    put(&mut bytes, runs + 12, &30_u32.to_be_bytes());
    let measured = try_hear(&bytes);
    // Two of them fit, or it is refused; never thirty.
    assert!(measured.is_err() || measured.is_ok_and(|measured| measured.length.millis() < 200));
}

#[test]
fn a_codec_that_cannot_be_counted_is_refused() {
    let mut bytes = file("end.m4a");
    let entry = find(&bytes, b"mp4a");
    put(&mut bytes, entry, b"enca");
    assert_eq!(try_hear(&bytes), Err(MeasureError::TooComplex));
}

#[test]
fn a_track_that_is_no_sound_is_no_audio_track() {
    let mut bytes = file("end.m4a");
    let kind = find(&bytes, b"soun");
    put(&mut bytes, kind, b"text");
    assert_eq!(try_hear(&bytes), Err(MeasureError::NoAudioTrack));
}

#[test]
fn tables_of_bare_samples_may_claim_more_than_the_file_holds() {
    let mut bytes = file("pcm.mov");
    let sizes = body(&bytes, b"stsz");
    put(&mut bytes, sizes + 8, &u32::MAX.to_be_bytes());
    let runs = find_all(&bytes, b"stsc");
    for run in runs {
        put(&mut bytes, run + 16, &u32::MAX.to_be_bytes());
    }
    // Or it is refused, since they would lie upon each other.
    let most = u64::try_from(bytes.len() / 2).expect("a size") * 125_000;
    assert!(try_hear(&bytes).map_or(0, |measured| measured.length.nanos()) <= most);
}
