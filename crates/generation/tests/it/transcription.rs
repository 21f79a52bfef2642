//! Requests for transcripts: what is read, and what a record makes of the recording.

use serde_json::{Value, json};
use trunkline_catalog::{RequestError, starter};
use trunkline_generation::transcription::{
    Plan, TranscriptFormat, TranscriptionEndpoint, TranscriptionRequest, Upload, plan, protocol_of,
};
use trunkline_probe::{Codec, Container, Length};

use crate::records::{entry, form, note, telling, upload, with};

fn request(fields: &Value) -> Result<TranscriptionRequest, RequestError> {
    let upload = upload(Container::Wav, 2_100);
    TranscriptionRequest::read(TranscriptionEndpoint::Transcriptions, &form(fields), upload)
}

fn planned(upload: Upload, record: &Value) -> Result<Plan, RequestError> {
    let fields = form(&json!({ "model": "m" }));
    let ask = TranscriptionRequest::read(TranscriptionEndpoint::Transcriptions, &fields, upload)?;
    plan(ask, &entry(record))
}

fn param<T: std::fmt::Debug>(outcome: Result<T, RequestError>) -> String {
    outcome.expect_err("it must be refused").param
}

// covers: G-4.5-01
#[test]
fn the_model_is_a_required_field() {
    for wrong in [
        json!({}),
        json!({ "model": "" }),
        json!({ "model": ["a", "b"] }),
    ] {
        assert_eq!(param(request(&wrong)), "model");
    }
    assert_eq!(request(&json!({ "model": "m" })).unwrap().model, "m");
}

#[test]
fn the_form_of_the_answer_is_one_of_five() {
    let model = json!({ "model": "m" });
    let forms = [
        ("json", TranscriptFormat::Json),
        ("text", TranscriptFormat::Text),
        ("srt", TranscriptFormat::Srt),
        ("verbose_json", TranscriptFormat::VerboseJson),
        ("vtt", TranscriptFormat::Vtt),
    ];
    assert_eq!(request(&model).unwrap().format, TranscriptFormat::Json);
    for (word, answer) in forms {
        let ask = request(&with(&model, "response_format", json!(word))).unwrap();
        assert_eq!((ask.format, answer.as_str()), (answer, word));
    }
    for wrong in ["diarized_json", "xml"] {
        let fields = with(&model, "response_format", json!(wrong));
        assert_eq!(param(request(&fields)), "response_format");
    }
}

#[test]
fn the_whole_transcript_comes_in_one_answer() {
    let fields = json!({ "model": "m", "stream": "true" });
    assert_eq!(param(request(&fields)), "stream");
    let ask = request(&json!({ "model": "m", "stream": "false" })).unwrap();
    let plan = plan(ask, &entry(&json!({}))).unwrap();
    assert!(note(&plan.report, "stream").is_some() && plan.request.extras.is_empty());
    let begin = protocol_of("openai_transcription", "").unwrap().encode;
    let parts = begin(&plan.request, "upstream", None)
        .unwrap()
        .request
        .form
        .unwrap();
    assert!(parts.iter().all(|part| part.name != "stream"));
}

#[test]
fn other_fields_are_kept_and_checked_where_they_are_known() {
    let fields = json!({
        "model": "m", "temperature": "0.25", "timestamp_granularities[]": ["word", "segment"],
        "include[]": "logprobs", "chunking_strategy": "auto", "langauge": "de",
    });
    let plan = plan(request(&fields).unwrap(), &entry(&json!({}))).unwrap();
    assert_eq!(plan.request.extras["temperature"], json!(0.25));
    assert_eq!(
        plan.request.extras["timestamp_granularities[]"],
        json!(["word", "segment"])
    );
    assert_eq!(
        telling(plan.report.notes()),
        json!([["langauge", "read", "unknown_field"]])
    );
    let fix = note(&plan.report, "langauge").unwrap().fix.clone();
    assert_eq!(fix.as_deref(), Some("did you mean `language`?"));
    for name in fields
        .as_object()
        .unwrap()
        .keys()
        .chain([&"file".to_owned()])
    {
        assert!(note(&plan.report, name).is_some(), "{name}");
    }
    assert_eq!(
        param(request(&with(&fields, "temperature", json!("warm")))),
        "temperature"
    );
    let wrong = with(&fields, "timestamp_granularities[]", json!("character"));
    assert_eq!(param(request(&wrong)), "timestamp_granularities[]");
}

#[test]
fn a_translation_has_no_language_to_say() {
    let fields = form(&json!({ "model": "m", "language": "de" }));
    let ask = TranscriptionRequest::read(
        TranscriptionEndpoint::Translations,
        &fields,
        upload(Container::Wav, 1),
    )
    .unwrap();
    let plan = plan(ask, &entry(&json!({}))).unwrap();
    assert_eq!(plan.request.language, None);
    let reported = json!([["language", "ignored", "language_ignored"]]);
    assert_eq!(telling(plan.report.notes()), reported);
}

// covers: G-8-15, G-8-17, G-8-20
#[test]
fn a_recording_is_as_long_as_the_record_of_its_model_allows() {
    for limit in [30, 300] {
        let record = json!({ "specs": { "max_upload_seconds": limit } });
        let long = |millis: u64| upload(Container::Wav, millis);
        assert!(planned(long(limit * 1000), &record).is_ok());
        assert_eq!(param(planned(long(limit * 1000 + 1), &record)), "file");
        assert_eq!(param(planned(long((limit + 1) * 1000), &record)), "file");
        assert!(planned(long((limit + 1) * 1000), &json!({})).is_ok());
    }
}

// covers: D-7-MON-21
#[test]
fn the_starter_catalog_has_the_recognition_models_with_these_limits() {
    let starter = starter().unwrap();
    for (seconds, bytes) in [(30, 25_000_000), (300, 2_000_000_000)] {
        let record = starter.models.values().find(|entry| {
            let specs = &entry.specs;
            specs.max_upload_seconds == Some(seconds) && specs.max_upload_bytes == Some(bytes)
        });
        let record = record.unwrap();
        let taken = |millis: u64, bytes: u64| {
            let fields = form(&json!({ "model": "m" }));
            let upload = Upload {
                bytes,
                ..upload(Container::Wav, millis)
            };
            let ask =
                TranscriptionRequest::read(TranscriptionEndpoint::Transcriptions, &fields, upload)
                    .unwrap();
            plan(ask, record).is_ok()
        };
        assert!(taken(seconds * 1000, bytes));
        assert!(!taken(seconds * 1000 + 1000, bytes));
        assert!(!taken(seconds * 1000, bytes + 1));
    }
}

// covers: G-8-16, G-8-18, G-8-20
#[test]
fn a_file_is_as_large_as_the_record_of_its_model_allows() {
    for limit in [25_000_000, 2_000_000_000] {
        let record = json!({ "specs": { "max_upload_bytes": limit } });
        let large = |bytes: u64| Upload {
            bytes,
            ..upload(Container::Wav, 1_000)
        };
        assert!(planned(large(limit), &record).is_ok());
        assert_eq!(param(planned(large(limit + 1), &record)), "file");
        assert!(planned(large(limit + 1), &json!({})).is_ok());
    }
}

// covers: G-4.5-11, G-4.5-12, G-4.5-13
#[test]
fn a_model_with_restricted_uploads_takes_16_bit_wav_and_ogg_only() {
    let record = json!({
        "accepted_upload_formats": ["wav", "ogg"],
        "specs": { "upload_pcm_bits": 16 },
    });
    assert!(planned(upload(Container::Wav, 1_000), &record).is_ok());
    assert!(planned(upload(Container::Ogg, 1_000), &record).is_ok());
    let others = [
        Container::Mp3,
        Container::Flac,
        Container::Mp4,
        Container::WebM,
        Container::Adts,
    ];
    for other in others {
        // The name of the file is talk.wav, and its type audio/wav.
        let refusal = planned(upload(other, 1_000), &record).unwrap_err();
        assert_eq!(refusal.param, "file");
        assert!(refusal.message.contains("wav, ogg"));
    }
    let codecs = [
        Codec::Pcm {
            bits: 24,
            is_float: false,
        },
        Codec::Pcm {
            bits: 16,
            is_float: true,
        },
        Codec::OtherPcm,
    ];
    for codec in codecs {
        let mut wav = upload(Container::Wav, 1_000);
        wav.measurement.codec = codec;
        assert_eq!(param(planned(wav.clone(), &record)), "file");
        assert!(planned(wav, &json!({})).is_ok());
    }
}

#[test]
fn a_container_is_known_by_each_of_its_words() {
    let words = [
        ("wav", Container::Wav),
        ("mp3", Container::Mp3),
        ("mpeg", Container::Mp3),
        ("MPGA", Container::Mp3),
        ("flac", Container::Flac),
        ("ogg", Container::Ogg),
        ("opus", Container::Ogg),
        ("oga", Container::Ogg),
        ("m4a", Container::Mp4),
        ("mp4", Container::Mp4),
        ("mov", Container::Mp4),
        ("webm", Container::WebM),
        ("aac", Container::Adts),
    ];
    let containers: Vec<Container> = words.iter().map(|(_, container)| *container).collect();
    for (word, fits) in words {
        let record = json!({ "accepted_upload_formats": [word] });
        for container in &containers {
            let is_taken = planned(upload(*container, 1_000), &record).is_ok();
            assert_eq!(is_taken, *container == fits, "{word} {container:?}");
        }
    }
}

#[test]
fn what_is_billed_is_whole_seconds() {
    let ask = |nanos: u64| {
        let mut upload = upload(Container::Wav, 1);
        upload.measurement.length = Length::from_nanos(nanos);
        let fields = form(&json!({ "model": "m" }));
        TranscriptionRequest::read(TranscriptionEndpoint::Transcriptions, &fields, upload)
            .unwrap()
            .seconds()
    };
    let seconds = [ask(200_000_000), ask(2_000_000_000), ask(2_100_000_000)];
    assert_eq!(seconds, [1, 2, 3]);
}
