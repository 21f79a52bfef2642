//! A request for a transcript by the model's record. What an upload is was measured; its name and the type
//! that the form gives it count for nothing.

use trunkline_catalog::{Entry, FieldNote, FieldReport, FieldTreatment, RequestError};
use trunkline_probe::{Codec, Container, Measurement};

use super::{Plan, TranscriptionEndpoint, TranscriptionRequest};
use crate::field_policy;

/// The fields of the format.
const KNOWN: [&str; 12] = [
    "model",
    "file",
    "language",
    "prompt",
    "response_format",
    "stream",
    "temperature",
    "timestamp_granularities",
    "timestamp_granularities[]",
    "include",
    "include[]",
    "chunking_strategy",
];

/// Checks a request by the model's record: length, size and form of the recording, and its fields.
pub fn plan(mut request: TranscriptionRequest, entry: &Entry) -> Result<Plan, RequestError> {
    let mut report = FieldReport::default();
    report.add(FieldNote::read("model"));
    check_bytes(&request, entry)?;
    check_form(&request.upload.measurement, entry)?;
    check_samples(&request.upload.measurement, entry)?;
    check_length(&request, entry)?;
    report.add(FieldNote::read("file"));
    field_policy::own(&mut report, entry, "prompt", &mut request.prompt)?;
    field_policy::own(&mut report, entry, "language", &mut request.language)?;
    for name in ["response_format", "stream"] {
        field_policy::ours(&mut report, entry, &mut request.extras, name)?;
    }
    field_policy::extras(&mut report, entry, &mut request.extras, &KNOWN)?;
    if request.endpoint == TranscriptionEndpoint::Translations && request.language.take().is_some()
    {
        let why = "a translation is English, and what is spoken is found out";
        let note = FieldNote::new("language", FieldTreatment::Ignored, "language_ignored", why);
        report.add(note.with_fix("leave `language` out"));
    }
    Ok(Plan { request, report })
}

fn check_bytes(request: &TranscriptionRequest, entry: &Entry) -> Result<(), RequestError> {
    match entry.specs.max_upload_bytes {
        Some(most) if request.upload.bytes > most => {
            let has = request.upload.bytes;
            let text = format!("this model takes files of at most {most} bytes; this has {has}");
            let refusal = RequestError::invalid("file", text);
            Err(refusal.with_fix("send it compressed or in pieces"))
        }
        Some(_) | None => Ok(()),
    }
}

fn check_length(request: &TranscriptionRequest, entry: &Entry) -> Result<(), RequestError> {
    match entry.specs.max_upload_seconds {
        Some(most) if request.seconds() > most => {
            let has = request.seconds();
            let text =
                format!("this model takes recordings of at most {most} seconds; this has {has}");
            Err(RequestError::invalid("file", text).with_fix("send it in pieces"))
        }
        Some(_) | None => Ok(()),
    }
}

fn check_form(measurement: &Measurement, entry: &Entry) -> Result<(), RequestError> {
    let Some(accepted) = &entry.accepted_upload_formats else {
        return Ok(());
    };
    let words = words_of(measurement.container);
    let fits = |word: &String| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    if accepted.iter().any(fits) {
        return Ok(());
    }
    let is = words.first().copied().unwrap_or_default();
    let all = field_policy::listed(accepted);
    let text = format!("the file is {is}, whatever its name says; this model takes {all}");
    Err(RequestError::invalid("file", text))
}

fn check_samples(measurement: &Measurement, entry: &Entry) -> Result<(), RequestError> {
    let Some(required_bits) = entry.specs.upload_pcm_bits else {
        return Ok(());
    };
    let fits = match (measurement.container, measurement.codec) {
        (Container::Wav, Codec::Pcm { bits, is_float }) => {
            !is_float && u64::from(bits) == required_bits
        }
        (Container::Wav, _) => false,
        (
            Container::Mp3
            | Container::Flac
            | Container::Ogg
            | Container::Mp4
            | Container::WebM
            | Container::Adts,
            _,
        ) => true,
    };
    if fits {
        return Ok(());
    }
    let text = format!("a wav file for this model must be PCM of {required_bits} bits");
    Err(RequestError::invalid("file", text))
}

/// The names of a container in records, its usual file extension first.
pub(super) const fn words_of(container: Container) -> &'static [&'static str] {
    match container {
        Container::Wav => &["wav"],
        Container::Mp3 => &["mp3", "mpeg", "mpga"],
        Container::Flac => &["flac"],
        Container::Ogg => &["ogg", "opus", "oga"],
        Container::Mp4 => &["m4a", "mp4", "mov"],
        Container::WebM => &["webm"],
        Container::Adts => &["aac"],
    }
}
