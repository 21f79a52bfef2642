//! Media from outside: files by their packets, streams while they pass, images and videos by ranges.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use trunkline_fuzz::{chosen, cut};
use trunkline_probe::visual::{MAX_NEED_BYTES, MAX_STEPS, Probe, Step};
use trunkline_probe::{SpeechFormat, StreamMeter, measure};

const SPEECH: [SpeechFormat; 6] = [
    SpeechFormat::Mp3,
    SpeechFormat::Opus,
    SpeechFormat::Aac,
    SpeechFormat::Flac,
    SpeechFormat::Wav,
    SpeechFormat::Pcm { rate: 24_000 },
];

fuzz_target!(|data: &[u8]| {
    let Some(([choice, first, step], bytes)) = chosen(data) else {
        return;
    };
    match choice % 3 {
        0 => {
            let length = bytes.len() as u64;
            let whole = measure(Cursor::new(bytes), length);
            let again = measure(Cursor::new(bytes), length);
            assert_eq!(whole, again, "one file, two lengths");
        }
        1 => {
            let format = SPEECH[usize::from(choice / 3) % SPEECH.len()];
            let mut whole = StreamMeter::new(format);
            whole.push(bytes);
            let mut pieces = StreamMeter::new(format);
            for piece in cut(bytes, first, step) {
                pieces.push(piece);
            }
            assert_eq!(whole.length(), pieces.length(), "one stream, two lengths");
        }
        _ => {
            let whole = probed(bytes, bytes.len());
            assert_eq!(
                whole,
                probed(bytes, usize::from(step).max(1)),
                "one file, two readings"
            );
        }
    }
});

/// Gives a probe what it needs, in parts of so many bytes.
fn probed(bytes: &[u8], part: usize) -> Step {
    let mut probe = Probe::new(Some(bytes.len() as u64));
    for _ in 0..=MAX_STEPS {
        match probe.step() {
            Step::Need(need) => {
                assert!(need.length <= MAX_NEED_BYTES, "needs {}", need.length);
                let start = usize::try_from(need.start)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                let rest = &bytes[start..];
                // Parts of a byte or two would only reach the bound of steps.
                let length = usize::try_from(need.length).unwrap_or(usize::MAX);
                let most = length.min(part.max(length / 8)).max(1);
                probe.push(need.start, &rest[..rest.len().min(most)]);
            }
            end @ (Step::Done(_) | Step::Failed(_)) => return end,
        }
    }
    panic!("a probe without an end");
}
