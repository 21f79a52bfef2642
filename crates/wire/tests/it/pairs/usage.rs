//! What was used, in all pairs: each token in one bucket and under its face, the buckets sum to the
//! upstream's total, and so does what the caller is shown.

use serde_json::Value;
use trunkline_types::{BillingUnit, Bucket, Face};
use trunkline_wire::canonical::{ReportedUsage, TranslationState};
use trunkline_wire::{Format, Reader, read_response, scan_response};

use crate::pairs::answer_probes::probes;
use crate::pairs::corpus::cases;
use crate::pairs::translate::{answered, frames, streamed};

/// A format, its buckets, and their total.
type ResponseFacts = (Format, &'static [(Bucket, u64)], u64);

/// What each probe's usage is, bucket by bucket, and its total.
const REPORTED: [ResponseFacts; 4] = [
    (
        Format::OpenaiChat,
        &[
            (Bucket::PlainInput, 57),
            (Bucket::CacheRead, 20),
            (Bucket::CacheWrite5m, 8),
            (Bucket::ImageInput, 5),
            (Bucket::AudioInput, 10),
            (Bucket::PlainOutput, 40),
            (Bucket::ImageOutput, 4),
            (Bucket::AudioOutput, 6),
        ],
        150,
    ),
    (
        Format::ClaudeMessages,
        &[
            (Bucket::PlainInput, 60),
            (Bucket::CacheRead, 20),
            (Bucket::CacheWrite5m, 18),
            (Bucket::CacheWrite1h, 12),
            (Bucket::PlainOutput, 40),
        ],
        150,
    ),
    (
        Format::OpenaiResponses,
        &[
            (Bucket::PlainInput, 72),
            (Bucket::CacheRead, 20),
            (Bucket::CacheWrite5m, 8),
            (Bucket::PlainOutput, 50),
        ],
        150,
    ),
    (
        Format::Gemini,
        &[
            (Bucket::PlainInput, 65),
            (Bucket::CacheRead, 20),
            (Bucket::ImageInput, 9),
            (Bucket::AudioInput, 6),
            (Bucket::PlainOutput, 42),
            (Bucket::ImageOutput, 7),
            (Bucket::AudioOutput, 3),
        ],
        152,
    ),
];

const FACES: [(Bucket, Face); 9] = [
    (Bucket::PlainInput, Face::Input),
    (Bucket::CacheRead, Face::CacheRead),
    (Bucket::CacheWrite5m, Face::CacheWrite),
    (Bucket::CacheWrite1h, Face::CacheWrite1h),
    (Bucket::ImageInput, Face::ImageInput),
    (Bucket::AudioInput, Face::AudioInput),
    (Bucket::PlainOutput, Face::Output),
    (Bucket::ImageOutput, Face::ImageOutput),
    (Bucket::AudioOutput, Face::AudioOutput),
];

#[test]
fn every_token_is_in_one_bucket_and_billed_under_its_face() {
    for (format, buckets, total) in REPORTED {
        let body = probes(format)[0].to_string();
        let reported = read_response(format, body.as_bytes())
            .unwrap()
            .reported
            .unwrap();
        for (bucket, face) in FACES {
            let entry = buckets.iter().find(|(one, _)| *one == bucket);
            let tokens = entry.map_or(0, |(_, tokens)| *tokens);
            assert_eq!(
                reported.of(bucket),
                tokens,
                "{} {bucket:?}",
                format.as_str()
            );
            let billed = reported.usage.billed(BillingUnit::Tokens).unwrap();
            assert_eq!(billed.of(face), tokens, "{} {face:?}", format.as_str());
        }
        assert_eq!(sum(&reported), total, "{}", format.as_str());
        let whole = scan_response(format, body.as_bytes()).unwrap();
        assert_eq!(whole.reported, Some(reported), "one answer, one bill");
    }
}

#[test]
fn an_answer_is_billed_alike_whether_it_is_passed_on_or_translated() {
    // Found by the fuzzer: nothing was said, and only the input was told.
    let silent = br#"{"usageMetadata":{"promptTokenCount":7,"totalTokenCount":7}}"#;
    let corpus = cases().into_iter().filter_map(|case| case.answer);
    for (format, body) in corpus.chain([(Format::Gemini, silent.to_vec())]) {
        let passed = scan_response(format, &body).unwrap().reported;
        assert_eq!(passed, read_response(format, &body).unwrap().reported);
    }
}

#[test]
fn what_every_caller_is_shown_sums_to_the_upstreams_total() {
    for (from, _, total) in REPORTED {
        for probe in probes(from) {
            let body = probe.to_string();
            for to in Format::ALL {
                let written =
                    answered(from, to, body.as_bytes(), &TranslationState::default()).unwrap();
                let written: Value = serde_json::from_slice(&written).unwrap();
                let pair = format!("{} to {}", from.as_str(), to.as_str());
                assert_eq!(shown_total(to, &written), total, "{pair}");
            }
        }
    }
}

#[test]
fn streams_of_the_corpus_show_every_caller_what_their_upstream_told() {
    for case in cases() {
        let (Some((from, body)), Some((_, stream))) = (&case.answer, &case.stream) else {
            continue;
        };
        let reported = read_response(*from, body).unwrap().reported;
        let Some(reported) = reported else {
            continue;
        };
        for to in Format::ALL {
            let written = streamed(*from, to, &[stream], &TranslationState::default());
            let total = stream_total(to, &written);
            assert_eq!(total, sum(&reported), "{} to {}", case.name, to.as_str());
        }
    }
}

fn sum(reported: &ReportedUsage) -> u64 {
    reported.input() + reported.output()
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

/// The sum of what a caller is shown; where the format has a total of its own, it must agree.
fn shown_total(format: Format, body: &Value) -> u64 {
    let of = |path: &str| number(body, path);
    match format {
        Format::OpenaiChat => {
            let sum = of("/usage/prompt_tokens") + of("/usage/completion_tokens");
            assert_eq!(sum, of("/usage/total_tokens"));
            sum
        }
        Format::ClaudeMessages => {
            let writes = of("/usage/cache_creation_input_tokens");
            let apart = of("/usage/cache_creation/ephemeral_5m_input_tokens")
                + of("/usage/cache_creation/ephemeral_1h_input_tokens");
            assert_eq!(writes, apart);
            let input = of("/usage/input_tokens") + of("/usage/cache_read_input_tokens");
            input + writes + of("/usage/output_tokens")
        }
        Format::OpenaiResponses => {
            let sum = of("/usage/input_tokens") + of("/usage/output_tokens");
            assert_eq!(sum, of("/usage/total_tokens"));
            sum
        }
        Format::Gemini => {
            let output =
                of("/usageMetadata/candidatesTokenCount") + of("/usageMetadata/thoughtsTokenCount");
            let sum = of("/usageMetadata/promptTokenCount") + output;
            assert_eq!(sum, of("/usageMetadata/totalTokenCount"));
            sum
        }
    }
}

/// The same of a stream, read as its caller reads it.
fn stream_total(format: Format, stream: &[u8]) -> u64 {
    let mut reader = Reader::new(format);
    let mut events = Vec::new();
    for frame in frames(&[stream]) {
        reader.read(&frame, &mut events);
    }
    assert!(reader.end(&mut events), "{}", format.as_str());
    let mut meter = trunkline_wire::canonical::Meter::default();
    events.iter().for_each(|event| meter.observe(event));
    sum(meter.reported().unwrap())
}
