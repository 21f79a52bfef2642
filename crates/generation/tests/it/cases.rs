//! Vendors by folders of cases: `tests/fixtures/{images,speech,transcription}/{vendor}/*.json`. A file is one
//! request with what the vendor is sent, and answers with what each means. A new case is a new file. Answers
//! are written after the vendors' documents and public clients; none was fetched live.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_generation::transcription::{Stage, Upload};
use trunkline_generation::vendor_http::VendorResponse;
use trunkline_generation::{Fields, images, speech, transcription};
use trunkline_probe::{Codec, Length};

use crate::json_view;
use crate::records::{body, container, entry, form, prices, upload};

/// The upstream's name of every model.
const MODEL: &str = "upstream-model";
/// Our link to every upload.
const LINK: &str = "https://ours.example/talk";
/// Cases of a vendor, at least.
const LEAST: usize = 8;

/// One case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    /// Fields of the model's record.
    #[serde(default = "nothing")]
    record: Value,
    /// `generations` or `edits`, `transcriptions` or `translations`; the first of the two if it is left out.
    #[serde(default)]
    endpoint: String,
    /// The way of recognition.
    #[serde(default)]
    way: String,
    request: Option<Value>,
    /// Fields of a form instead.
    form: Option<Value>,
    #[serde(default)]
    files: Vec<File>,
    recording: Option<Recording>,
    /// What is sent, or that it is refused.
    sent: Value,
    /// How speech comes: `bytes`, `events` or `whole`.
    manner: Option<String>,
    /// How many bytes go before speech.
    opening: Option<usize>,
    #[serde(default)]
    answers: Vec<Answer>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    field: String,
    name: String,
    content_type: String,
    text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recording {
    container: String,
    name: Option<String>,
    content_type: Option<String>,
    millis: Option<u64>,
    bits: Option<u16>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(default = "success")]
    status: u16,
    retry_after: Option<u64>,
    /// A text is the body as it is, everything else is written as JSON.
    body: Value,
    /// `begun`, `polled`, `fetched`; of speech `event`, `whole`, `error`.
    #[serde(default)]
    of: String,
    means: Value,
    /// What the caller is shown of a transcript.
    rendered: Option<Value>,
}

fn nothing() -> Value {
    json!({})
}

const fn success() -> u16 {
    200
}

impl Case {
    fn fields(&self) -> Fields {
        match (&self.request, &self.form) {
            (Some(request), None) => body(request),
            (None, Some(fields)) => form(fields),
            (_, _) => panic!("{}: a request or a form", self.about),
        }
    }
}

impl Answer {
    fn bytes(&self) -> Vec<u8> {
        match self.body.as_str() {
            Some(text) => text.as_bytes().to_vec(),
            None => serde_json::to_vec(&self.body).unwrap(),
        }
    }
}

fn folders(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = std::fs::read_dir(folder.join(kind)).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Runs every case of a kind and says all that is wrong. Each vendor must have a folder, each folder a vendor.
fn walk(kind: &str, formats: &BTreeSet<&str>, run: fn(&str, &Case) -> Vec<String>) {
    let mut walked = BTreeSet::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for folder in folders(kind) {
        let vendor = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let format = format!("{vendor}_{kind}");
        let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        assert!(paths.len() >= LEAST, "{format}: {} cases", paths.len());
        for path in paths {
            let case: Case = serde_json::from_slice(&std::fs::read(&path).unwrap())
                .unwrap_or_else(|error| panic!("{path:?}: {error}"));
            let name = path.file_stem().unwrap().to_str().unwrap();
            let faults = run(&format, &case);
            wrong.extend(
                faults
                    .iter()
                    .map(|fault| format!("{format}/{name} ({}): {fault}", case.about)),
            );
            count += 1;
        }
        walked.insert(format);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let walked: BTreeSet<&str> = walked.iter().map(String::as_str).collect();
    assert_eq!(&walked, formats);
    println!("{count} cases of {kind}");
}

fn differ(what: &str, got: &Value, expected: &Value) -> Option<String> {
    (got != expected).then(|| format!("{what}\n  expected {expected}\n  got      {got}"))
}

fn run_images(format: &str, case: &Case) -> Vec<String> {
    let endpoint = match case.endpoint.as_str() {
        "generations" | "" => images::ImageEndpoint::Generations,
        "edits" => images::ImageEndpoint::Edits,
        endpoint => panic!("no endpoint {endpoint}"),
    };
    let files = case.files.iter().map(|file| {
        let picture = images::InputImage::Held {
            name: file.name.clone(),
            content_type: file.content_type.clone(),
            bytes: file.text.clone().into_bytes().into(),
        };
        (file.field.clone(), picture)
    });
    let record = entry(&case.record);
    let ask = images::ImageRequest::read(endpoint, &case.fields(), files.collect()).unwrap();
    let plan = images::plan(ask, &record, &prices(&record)).unwrap();
    let protocol = images::protocol_of(format).unwrap();
    let sent = json_view::encoded(&(protocol.encode)(&plan.request, MODEL));
    let mut faults: Vec<String> = differ("sent", &sent, &case.sent).into_iter().collect();
    for answer in &case.answers {
        let bytes = answer.bytes();
        let got = json_view::made(&(protocol.decode)(&plan.request, &response(answer, &bytes)));
        faults.extend(differ("means", &got, &answer.means));
    }
    faults
}

fn run_speech(format: &str, case: &Case) -> Vec<String> {
    let ask = speech::SpeechRequest::read(&case.fields()).unwrap();
    let plan = speech::plan(ask, &entry(&case.record)).unwrap();
    let protocol = speech::protocol_of(format).unwrap();
    let sent = json_view::encoded(&(protocol.encode)(&plan.request, MODEL));
    let mut faults: Vec<String> = differ("sent", &sent, &case.sent).into_iter().collect();
    let manner = (protocol.stream_mode)(&plan.request);
    let word = match manner {
        speech::StreamMode::Bytes => "bytes",
        speech::StreamMode::Events(_) => "events",
        speech::StreamMode::Whole(_) => "whole",
    };
    if let Some(expected) = &case.manner {
        faults.extend(differ("manner", &json!(word), &json!(expected)));
    }
    let opening = (protocol.prefix)(&plan.request).len();
    if let Some(expected) = case.opening {
        faults.extend(differ("opening", &json!(opening), &json!(expected)));
    }
    for answer in &case.answers {
        let bytes = answer.bytes();
        let vendor_response = response(answer, &bytes);
        let got = match (answer.of.as_str(), manner) {
            ("error", _) => json_view::failure(&(protocol.read_error)(&vendor_response)),
            ("event", speech::StreamMode::Events(read)) => json_view::spoken(&read(&bytes)),
            ("whole", speech::StreamMode::Whole(read)) => {
                json_view::spoken(&read(&vendor_response))
            }
            (of, manner) => panic!("{}: no answer {of} of {manner:?}", case.about),
        };
        faults.extend(differ("means", &got, &answer.means));
    }
    faults
}

fn run_transcription(format: &str, case: &Case) -> Vec<String> {
    let endpoint = match case.endpoint.as_str() {
        "transcriptions" | "" => transcription::TranscriptionEndpoint::Transcriptions,
        "translations" => transcription::TranscriptionEndpoint::Translations,
        endpoint => panic!("no endpoint {endpoint}"),
    };
    let upload = recorded(case.recording.as_ref());
    let ask = transcription::TranscriptionRequest::read(endpoint, &case.fields(), upload).unwrap();
    let plan = transcription::plan(ask, &entry(&case.record)).unwrap();
    let protocol = transcription::protocol_of(format, &case.way).unwrap();
    let link = match protocol.upload_mode {
        transcription::UploadMode::Form => None,
        transcription::UploadMode::Link => Some(LINK),
    };
    let sent = json_view::encoded(&(protocol.encode)(&plan.request, MODEL, link));
    let mut faults: Vec<String> = differ("sent", &sent, &case.sent).into_iter().collect();
    for answer in &case.answers {
        let stage = match answer.of.as_str() {
            "begun" | "" => Stage::Begun,
            "polled" => Stage::Polled,
            "fetched" => Stage::Fetched,
            of => panic!("no stage {of}"),
        };
        let bytes = answer.bytes();
        let turn = (protocol.decode)(&plan.request, stage, &response(answer, &bytes));
        faults.extend(differ("means", &json_view::turn(&turn), &answer.means));
        if let (Some(expected), Ok(transcription::NextStep::Done(transcript))) =
            (&answer.rendered, &turn)
        {
            let rendered = transcription::render(&plan.request, transcript).unwrap();
            let text = String::from_utf8_lossy(&rendered.body);
            let shown_body = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
            faults.extend(differ("rendered", &shown_body, expected));
        }
    }
    faults
}

fn recorded(recording: Option<&Recording>) -> Upload {
    let Some(recording) = recording else {
        return upload(container("wav"), 2_100);
    };
    let mut upload = upload(
        container(&recording.container),
        recording.millis.unwrap_or(2_100),
    );
    if let Some(name) = &recording.name {
        upload.name.clone_from(name);
    }
    if let Some(content_type) = &recording.content_type {
        upload.content_type.clone_from(content_type);
    }
    if let Some(bits) = recording.bits {
        let is_float = false;
        upload.measurement.codec = Codec::Pcm { bits, is_float };
    }
    assert!(upload.measurement.length > Length::ZERO);
    upload
}

const fn response<'a>(answer: &Answer, bytes: &'a [u8]) -> VendorResponse<'a> {
    VendorResponse {
        status: answer.status,
        retry_after: answer.retry_after,
        body: bytes,
    }
}

#[test]
fn every_case_of_images_is_sent_and_read_as_written() {
    let formats = images::ALL.iter().map(|protocol| protocol.format).collect();
    walk("images", &formats, run_images);
}

#[test]
fn every_case_of_speech_is_sent_and_read_as_written() {
    let formats = speech::ALL.iter().map(|protocol| protocol.format).collect();
    walk("speech", &formats, run_speech);
}

#[test]
fn every_case_of_transcription_is_sent_and_read_as_written() {
    let formats = transcription::ALL
        .iter()
        .map(|protocol| protocol.format)
        .collect();
    walk("transcription", &formats, run_transcription);
}
