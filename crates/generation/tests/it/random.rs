//! Whatever comes, from callers or vendors: nothing panics, and what is made is never more than was asked.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trunkline_generation::transcription::Stage;
use trunkline_generation::vendor_http::VendorResponse;
use trunkline_generation::{Content, Encoded, Fields, images, speech, transcription};
use trunkline_probe::Container;

use crate::records::{entry, prices, tiered, upload};

const NAMES: [&str; 26] = [
    "model",
    "prompt",
    "n",
    "size",
    "quality",
    "response_format",
    "image",
    "images",
    "mask",
    "stream",
    "partial_images",
    "input",
    "voice",
    "speed",
    "instructions",
    "stream_format",
    "language",
    "temperature",
    "timestamp_granularities[]",
    "voice_setting",
    "audio_setting",
    "asr_options",
    "watermark",
    "x",
    "image[]",
    "style",
];
/// Names that vendors' answers have.
const ANSWERED: [&str; 30] = [
    "data",
    "url",
    "b64_json",
    "error",
    "code",
    "message",
    "output",
    "choices",
    "content",
    "image",
    "results",
    "result",
    "base_resp",
    "status_code",
    "image_urls",
    "image_base64",
    "metadata",
    "failed_count",
    "audio",
    "status",
    "finish_reason",
    "text",
    "task_id",
    "task_status",
    "transcription_url",
    "transcripts",
    "sentences",
    "begin_time",
    "end_time",
    "language",
];

fn leaf() -> impl Strategy<Value = Value> {
    let known = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(2),
        json!(-1),
        json!(1.5),
        json!("1"),
        json!(""),
        json!("m"),
        json!("auto"),
        json!("1x1"),
        json!("2*2"),
        json!("16:9"),
        json!("b64_json"),
        json!("verbose_json"),
        json!("wav"),
        json!("pcm"),
        json!("audio"),
        json!("https://a.example/b"),
        json!("data:image/png;base64,UE5H"),
        json!("SUCCEEDED"),
        json!("FAILED"),
        json!("UE5H"),
        json!("616263"),
        json!("stop"),
        json!("Throttling"),
    ];
    prop_oneof![
        6 => prop::sample::select(known.to_vec()),
        1 => any::<String>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
    ]
}

fn tree(names: &'static [&'static str]) -> impl Strategy<Value = Value> {
    leaf().prop_recursive(5, 40, 6, move |inner| {
        let name = prop::sample::select(names).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn fields() -> impl Strategy<Value = Fields> {
    let name = prop::sample::select(NAMES.as_slice()).prop_map(str::to_owned);
    let values = prop::collection::btree_map(name, tree(&NAMES), 0..12);
    // Most requests have what is required, or nothing else would ever be reached.
    (values, any::<bool>(), 0..8u8).prop_map(|(values, is_form, luck)| {
        let mut values: Map<String, Value> = values.into_iter().collect();
        if luck > 0 {
            for (name, value) in [
                ("model", "m"),
                ("prompt", "x"),
                ("input", "x"),
                ("voice", "v"),
            ] {
                values.insert(name.to_owned(), json!(value));
            }
        }
        Fields { values, is_form }
    })
}

fn answer() -> impl Strategy<Value = (u16, Vec<u8>)> {
    let body = prop_oneof![
        6 => tree(&ANSWERED).prop_map(|value| value.to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..60),
    ];
    let status = prop_oneof![4 => Just(200u16), 1 => any::<u16>()];
    (status, body)
}

/// How many pictures a vendor is asked for, wherever it is said: that is what is paid.
fn asked_for(encoded: &Encoded) -> u64 {
    if let Some(parts) = &encoded.request.form {
        let mut parts = parts.iter().filter(|part| part.name == "n");
        return match &parts.next().unwrap().content {
            Content::Text(text) => text.parse().unwrap(),
            Content::File { .. } | Content::Upload { .. } => panic!("n is a file"),
        };
    }
    let body: Value = serde_json::from_slice(encoded.request.body.as_ref().unwrap()).unwrap();
    let places = [
        "/n",
        "/parameters/n",
        "/sequential_image_generation_options/max_images",
    ];
    let mut found = places.iter().filter_map(|place| body.pointer(place));
    found.next().map_or(1, |count| count.as_u64().unwrap())
}

const fn response(status: u16, body: &[u8]) -> VendorResponse<'_> {
    VendorResponse {
        status,
        retry_after: None,
        body,
    }
}

proptest! {
    #[test]
    fn any_request_for_images_and_any_answer_is_read_without_a_panic(
        fields in fields(), edits in any::<bool>(), (status, body) in answer(),
    ) {
        let endpoint = if edits { images::ImageEndpoint::Edits } else { images::ImageEndpoint::Generations };
        let record = entry(&json!({
            "specs": { "qualities": ["low"], "max_images": 20 },
            "prices": tiered("size", &["1x1", "2x2"]),
        }));
        if let Ok(ask) = images::ImageRequest::read(endpoint, &fields, Vec::new())
            && let Ok(plan) = images::plan(ask, &record, &prices(&record))
        {
            prop_assert!((1..=20).contains(&plan.request.count));
            for protocol in images::ALL {
                if let Ok(encoded) = (protocol.encode)(&plan.request, "m") {
                    prop_assert_eq!(asked_for(&encoded), plan.request.count, "{}", protocol.format);
                }
                if let Ok(made) = (protocol.decode)(&plan.request, &response(status, &body)) {
                    let count = u64::try_from(made.pictures.len()).unwrap();
                    prop_assert_eq!(count + made.failed, plan.request.count);
                    prop_assert!(count > 0);
                }
            }
        }
    }

    #[test]
    fn any_request_for_speech_and_any_answer_is_read_without_a_panic(
        fields in fields(), (status, body) in answer(),
    ) {
        if let Ok(ask) = speech::SpeechRequest::read(&fields)
            && let Ok(plan) = speech::plan(ask, &entry(&json!({})))
        {
            prop_assert!(plan.request.format.is_some());
            for protocol in speech::ALL {
                let encoded = (protocol.encode)(&plan.request, "m");
                prop_assert!(encoded.is_ok_and(|one| one.request.body.is_some())
                    || protocol.format != "openai_speech");
                prop_assert!([0, 44].contains(&(protocol.prefix)(&plan.request).len()));
                drop((protocol.read_error)(&response(status, &body)));
                match (protocol.stream_mode)(&plan.request) {
                    speech::StreamMode::Bytes => {}
                    speech::StreamMode::Events(read) => drop(read(&body)),
                    speech::StreamMode::Whole(read) => drop(read(&response(status, &body))),
                }
            }
        }
    }

    #[test]
    fn any_request_for_a_transcript_and_any_answer_is_read_without_a_panic(
        fields in fields(), translates in any::<bool>(), (status, body) in answer(),
    ) {
        let endpoint = if translates {
            transcription::TranscriptionEndpoint::Translations
        } else {
            transcription::TranscriptionEndpoint::Transcriptions
        };
        let upload = upload(Container::Mp4, 2_100);
        if let Ok(ask) = transcription::TranscriptionRequest::read(endpoint, &fields, upload)
            && let Ok(plan) = transcription::plan(ask, &entry(&json!({})))
        {
            for protocol in transcription::ALL {
                let begun = (protocol.encode)(&plan.request, "m", Some("https://ours.example"));
                if let Ok(encoded) = begun {
                    let is_form = protocol.upload_mode == transcription::UploadMode::Form;
                    prop_assert_eq!(encoded.request.form.is_some(), is_form);
                }
                for stage in [Stage::Begun, Stage::Polled, Stage::Fetched] {
                    let turn = (protocol.decode)(&plan.request, stage, &response(status, &body));
                    if let Ok(transcription::NextStep::Done(transcript)) = turn {
                        let rendered = transcription::render(&plan.request, &transcript);
                        let code = rendered.err().map(|refusal| refusal.code);
                        prop_assert!(matches!(code, None | Some("timestamps_unsupported")));
                    }
                }
            }
        }
    }
}
