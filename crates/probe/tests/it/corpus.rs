//! Every file of the corpus, as it is.

use trunkline_probe::{Codec, Container, MeasureError, SpeechFormat};

use crate::support::{file, hear, truth, truths, try_hear, walk};

#[test]
fn every_file_is_as_long_as_what_its_decoder_gives_out() {
    let mut wrong = Vec::new();
    for truth in truths() {
        match try_hear(&file(&truth.file)) {
            Ok(measured) if measured.length == truth.length() => {}
            Ok(measured) => wrong.push(format!(
                "{}: {} ns instead of {}",
                truth.file,
                measured.length.nanos(),
                truth.length().nanos()
            )),
            Err(reason) => wrong.push(format!("{}: {reason}", truth.file)),
        }
    }
    assert!(truths().len() >= 40, "the corpus is large");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_length_is_below_what_was_recorded_or_above_what_is_decoded() {
    for truth in truths() {
        // This encoder adds nothing and loses half a frame at the end.
        if truth.file == "shine.mp3" {
            continue;
        }
        assert!(truth.meant <= truth.samples, "{}", truth.file);
        assert!(truth.samples <= truth.decoded, "{}", truth.file);
    }
}

#[test]
fn every_file_is_named_by_its_container() {
    for truth in truths() {
        let (_, ending) = truth.file.rsplit_once('.').expect("an ending");
        let container = match ending {
            "wav" => Container::Wav,
            "mp3" | "mp2" => Container::Mp3,
            "flac" => Container::Flac,
            "ogg" | "opus" | "oga" | "spx" => Container::Ogg,
            "aac" => Container::Adts,
            "mp4" | "m4a" | "mov" => Container::Mp4,
            "webm" | "mka" | "mkv" => Container::WebM,
            other => panic!("{other} is new"),
        };
        assert_eq!(
            hear(&file(&truth.file)).container,
            container,
            "{}",
            truth.file
        );
    }
}

#[test]
fn a_file_is_named_by_its_codec() {
    let pcm = |bits, is_float| Codec::Pcm { bits, is_float };
    let cases = [
        ("pcm-u8.wav", pcm(8, false)),
        ("pcm-s16.wav", pcm(16, false)),
        ("pcm-s24.wav", pcm(24, false)),
        ("pcm-s32.wav", pcm(32, false)),
        ("pcm-f32.wav", pcm(32, true)),
        ("pcm-f64.wav", pcm(64, true)),
        ("rf64.wav", pcm(16, false)),
        ("wave64.wav", pcm(16, false)),
        ("a-law.wav", Codec::OtherPcm),
        ("mu-law.mov", Codec::OtherPcm),
        ("ima.wav", Codec::OtherPcm),
        ("mp3-inside.wav", Codec::Mp3),
        ("cbr.mp3", Codec::Mp3),
        ("layer-2.mp2", Codec::Other),
        ("tone.flac", Codec::Flac),
        ("vorbis.ogg", Codec::Vorbis),
        ("second.opus", Codec::Opus),
        ("flac.oga", Codec::Flac),
        ("adts.aac", Codec::Aac),
        ("end.m4a", Codec::Aac),
        ("alac.m4a", Codec::Other),
        ("opus.mp4", Codec::Opus),
        ("mp3.mp4", Codec::Mp3),
        ("flac.mp4", Codec::Flac),
        ("float.mov", pcm(32, true)),
        ("pcm-24.mov", pcm(24, false)),
        ("opus.webm", Codec::Opus),
        ("vorbis.webm", Codec::Vorbis),
        ("aac.mka", Codec::Aac),
        ("float.mka", pcm(32, true)),
    ];
    for (name, codec) in cases {
        assert_eq!(hear(&file(name)).codec, codec, "{name}");
    }
}

#[test]
fn whole_seconds_are_rounded_up_in_every_container() {
    let cases = [
        ("pcm-u8.wav", 1),
        ("fifth.opus", 1),
        ("short.m4a", 1),
        ("one-sample.flac", 1),
        ("second.mp3", 1),
        ("second.flac", 1),
        ("second.opus", 1),
        ("vorbis-second.ogg", 1),
        ("end.m4a", 1),
        ("opus-second.webm", 1),
        ("second-and-one.mp3", 2),
        ("second-and-one.flac", 2),
        ("second-and-one.opus", 2),
        ("vorbis-one.ogg", 2),
        ("second-and-one.m4a", 2),
        ("vbr.mp3", 3),
        ("tone.flac", 3),
        ("vorbis.ogg", 3),
        ("faststart.m4a", 3),
        ("video.mp4", 3),
        ("opus.webm", 3),
        ("silence.flac", 30),
    ];
    for (name, seconds) in cases {
        assert_eq!(hear(&file(name)).length.whole_seconds(), seconds, "{name}");
        assert_eq!(truth(name).length().whole_seconds(), seconds, "{name}");
    }
}

#[test]
fn a_movie_without_sound_has_no_audio_track() {
    for name in ["silent.mp4", "silent.mkv"] {
        assert_eq!(
            try_hear(&file(name)),
            Err(MeasureError::NoAudioTrack),
            "{name}"
        );
    }
}

#[test]
fn what_is_no_audio_is_refused() {
    let text = "not a sound at all, ".repeat(200);
    let cases: [&[u8]; 6] = [
        b"",
        b"\0",
        b"RIFF\0\0\0\0AVI LIST",
        b"\xFF\xFB",
        b"ID3",
        text.as_bytes(),
    ];
    for bytes in cases {
        assert_eq!(try_hear(bytes), Err(MeasureError::NotAudio));
    }
}

#[test]
fn a_stream_that_passes_is_as_long_as_the_file() {
    for truth in truths() {
        let (_, ending) = truth.file.rsplit_once('.').expect("an ending");
        let format = match ending {
            "mp3" | "mp2" => SpeechFormat::Mp3,
            "opus" | "ogg" | "oga" => SpeechFormat::Opus,
            "aac" => SpeechFormat::Aac,
            "flac" => SpeechFormat::Flac,
            "wav" => SpeechFormat::Wav,
            _ => continue,
        };
        let bytes = file(&truth.file);
        for piece in [1, 7, 1_000, 1 << 20] {
            let walked = walk(format, &bytes, piece);
            assert_eq!(walked, Some(truth.length()), "{} by {piece}", truth.file);
        }
    }
}

#[test]
fn a_stream_of_something_else_has_no_length() {
    let text = b"{\"error\":\"no voice today\"}".repeat(100);
    let formats = ["mp3", "opus", "aac", "flac", "wav"];
    for format in formats.map(|word| SpeechFormat::parse(word).expect("a word")) {
        assert_eq!(walk(format, &text, 100), None, "{format:?}");
        assert_eq!(walk(format, b"", 1), None, "{format:?}");
    }
}

#[test]
fn bare_samples_are_counted_at_their_rate() {
    let second = vec![1; 48_000];
    let pcm = |rate| SpeechFormat::Pcm { rate };
    let seconds = |rate, bytes: &[u8]| walk(pcm(rate), bytes, 999).map(|length| length.millis());
    assert_eq!(seconds(24_000, &second), Some(1_000));
    assert_eq!(seconds(16_000, &second), Some(1_500));
    // Half a sample is none.
    assert_eq!(seconds(24_000, &second[..47_999]), Some(999));
    assert_eq!(seconds(24_000, b""), None);
}
