//! MPEG audio, ADTS and FLAC with junk around them, wrong tables, and ends that are missing.

use trunkline_probe::{Container, SpeechFormat, StreamMeter};

use crate::support::{file, find, hear, put, samples, truth, walk};

/// An ID3 tag with a picture of so many bytes, which look like frames here and there.
fn id3(size: usize) -> Vec<u8> {
    let digit = |shift: usize| u8::try_from(size >> shift & 0x7F).expect("seven bits");
    let mut bytes = vec![
        b'I',
        b'D',
        b'3',
        4,
        0,
        0,
        digit(21),
        digit(14),
        digit(7),
        digit(0),
    ];
    bytes.extend((0..size).map(|at| if at % 100 == 0 { 0xFF } else { 0xFB }));
    bytes
}

#[test]
fn tags_and_zeros_in_front_are_no_sound() {
    let mut ape = b"APETAGEX\xD0\x07\0\0\x64\0\0\0\x01\0\0\0\0\0\0\xA0\0\0\0\0\0\0\0\0".to_vec();
    ape.extend(vec![0xFF; 100]);
    let fronts = [
        id3(300_000),
        ape.clone(),
        vec![0; 5_000],
        [id3(10), ape, vec![0; 9], id3(70)].concat(),
    ];
    for name in [
        "vbr.mp3",
        "no-table.mp3",
        "adts.aac",
        "tone.flac",
        "layer-2.mp2",
        "pcm-s16.wav",
    ] {
        for front in &fronts {
            let bytes = [front.clone(), file(name)].concat();
            assert_eq!(hear(&bytes).length, truth(name).length(), "{name}");
        }
    }
}

#[test]
fn a_stream_is_as_long_in_pieces_as_whole() {
    let tag = [b"TAG".to_vec(), vec![b' '; 125]].concat();
    let ape = b"APETAGEX\xD0\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\x80\0\0\0\0\0\0\0\0".to_vec();
    for (name, format) in [
        ("no-table.mp3", SpeechFormat::Mp3),
        ("adts.aac", SpeechFormat::Aac),
    ] {
        for behind in [&tag, &ape] {
            let bytes = [vec![0; 7], id3(70), file(name), behind.clone()].concat();
            let mut whole = StreamMeter::new(format);
            whole.push(&bytes);
            for size in [1, 3, 7, 11] {
                let mut pieces = StreamMeter::new(format);
                bytes.chunks(size).for_each(|piece| pieces.push(piece));
                assert_eq!(
                    pieces.length(),
                    whole.length(),
                    "{name} in pieces of {size}"
                );
            }
            assert_eq!(whole.length(), Some(truth(name).length()), "{name}");
        }
    }
}

#[test]
fn tags_behind_are_no_sound() {
    let mut tag = b"TAG".to_vec();
    tag.resize(128, b' ');
    for name in [
        "vbr.mp3",
        "no-table-cbr.mp3",
        "one-sample.mp3",
        "adts.aac",
        "tone.flac",
    ] {
        let bytes = [file(name), tag.clone()].concat();
        assert_eq!(hear(&bytes).length, truth(name).length(), "{name}");
    }
}

#[test]
fn other_junk_in_front_of_frames_is_passed_over() {
    let junk = b"\xFF\xFB\x90junk \xFF\xF1 that begins like frames".repeat(20);
    for name in ["no-table.mp3", "adts.aac"] {
        let bytes = [junk.clone(), file(name)].concat();
        assert_eq!(hear(&bytes).length, truth(name).length(), "{name}");
    }
}

#[test]
fn a_wrong_count_of_frames_in_the_table_takes_away_no_frame() {
    let truth = truth("vbr.mp3");
    let name = find(&file("vbr.mp3"), b"Xing");
    for lie in [0_u32, 1, 1_000_000, u32::MAX] {
        let mut bytes = file("vbr.mp3");
        put(&mut bytes, name + 8, &lie.to_be_bytes());
        let measured = samples(&bytes, 44_100);
        // The padding is no longer believed, which is what ffmpeg does as well.
        assert!(
            measured >= truth.samples && measured <= truth.samples + 1_152,
            "{measured}"
        );
    }
}

#[test]
fn a_tag_of_an_encoder_takes_away_what_it_can_hold_and_no_more() {
    let mut bytes = file("cbr.mp3");
    let frames = samples(&bytes, 44_100) + added(&bytes);
    let place = find(&bytes, b"Lavf").min(find(&bytes, b"Lav")) + 21;
    put(&mut bytes, place, &[0xFF, 0xFF, 0xFF]);
    assert_eq!(samples(&bytes, 44_100), frames - 2 * 4_095);
    // An unknown encoder is not believed.
    put(&mut bytes, place - 21, b"Nobo");
    assert_eq!(samples(&bytes, 44_100), frames);
}

/// What the tag of a file says was added.
fn added(bytes: &[u8]) -> u64 {
    let place = find(bytes, b"Lavf") + 21;
    let [first, second, third] = [0, 1, 2].map(|at| u64::from(bytes[place + at]));
    (first << 4 | second >> 4) + ((second & 15) << 8 | third)
}

#[test]
fn a_tag_in_the_middle_hides_no_frames_behind_it() {
    let whole = file("no-table.mp3");
    let frames = truth("no-table.mp3").samples;
    // It claims to hold everything that follows.
    let tag = b"ID3\x04\x00\x00\x7F\x7F\x7F\x7F";
    let bytes = [whole.as_slice(), tag, &whole].concat();
    assert_eq!(samples(&bytes, 44_100), frames * 2);
}

#[test]
fn files_of_different_rates_behind_each_other_add_up() {
    let names = ["no-table.mp3", "no-table-cbr.mp3"];
    let bytes = names.map(file).concat();
    let millis = names.map(|name| truth(name).length().nanos());
    assert_eq!(hear(&bytes).length.nanos(), millis[0] + millis[1]);
}

#[test]
fn frames_that_were_cut_off_do_not_count() {
    for (name, frame) in [("no-table.mp3", 1_152), ("adts.aac", 1_024)] {
        let (bytes, truth) = (file(name), truth(name));
        for cut in [1, 20] {
            let left = samples(&bytes[..bytes.len() - cut], truth.rate);
            assert_eq!(left, truth.samples - frame, "{name}");
        }
        let half = samples(&bytes[..bytes.len() / 2], truth.rate);
        assert!(
            half.is_multiple_of(frame) && half > 0 && half < truth.samples,
            "{name}: {half}"
        );
    }
}

#[test]
fn the_total_of_a_flac_file_is_not_believed() {
    let truth = truth("tone.flac");
    for total in [[0, 0, 0, 0], [0, 0, 0, 1], [0xFF, 0xFF, 0xFF, 0xFF]] {
        let mut bytes = file("tone.flac");
        put(&mut bytes, 22, &total);
        assert_eq!(hear(&bytes).length, truth.length());
    }
}

#[test]
fn a_flac_file_that_was_cut_off_has_its_whole_frames() {
    let bytes = file("silence.flac");
    let half = samples(&bytes[..bytes.len() / 2], 44_100);
    assert!(
        half.is_multiple_of(4_608) || half.is_multiple_of(4_096),
        "{half}"
    );
    assert!(half > 400_000 && half < 900_000, "{half}");
}

#[test]
fn flac_frames_with_wrong_checksums_still_count() {
    let mut bytes = file("small-blocks.flac");
    let heads = crate::support::find_all(&bytes, &[0xFF, 0xF8]);
    assert!(heads.len() > 20);
    // The checksum of a frame stands right before the next one. Players do not look at it.
    for at in heads.iter().skip(1) {
        bytes[at - 1] ^= 0x55;
    }
    assert_eq!(samples(&bytes, 8_000), 4_001);
}

#[test]
fn a_single_frame_is_a_file() {
    let bytes = file("no-table-cbr.mp3");
    let start = find(&bytes, &[0xFF, 0xF3]);
    // 16 kilobits and 16,000 samples a second: 576 samples are 72 bytes.
    let frame = &bytes[start..start + 72];
    let measured = hear(frame);
    assert_eq!(
        (measured.container, measured.length.millis()),
        (Container::Mp3, 36)
    );
    assert_eq!(walk(SpeechFormat::Mp3, frame, 10), Some(measured.length));
}
