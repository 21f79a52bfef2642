//! A request for speech by the model's record.

use trunkline_catalog::{Entry, FieldNote, FieldReport, FieldTreatment, RequestError};
use trunkline_probe::SpeechFormat;

use super::{Plan, SpeechRequest};
use crate::field_policy;

/// The fields of the format.
const KNOWN: [&str; 7] = [
    "model",
    "input",
    "voice",
    "response_format",
    "speed",
    "instructions",
    "stream_format",
];

/// Checks a request by the model's record and writes in the format.
pub fn plan(mut request: SpeechRequest, entry: &Entry) -> Result<Plan, RequestError> {
    let mut report = FieldReport::default();
    for name in ["model", "input", "voice"] {
        report.add(FieldNote::read(name));
    }
    check_length(&request, entry)?;
    check_voice(&request, entry)?;
    field_policy::own(&mut report, entry, "speed", &mut request.speed)?;
    field_policy::own(
        &mut report,
        entry,
        "instructions",
        &mut request.instructions,
    )?;
    field_policy::ours(&mut report, entry, &mut request.extras, "stream_format")?;
    let voice = request.extras.remove("voice");
    field_policy::extras(&mut report, entry, &mut request.extras, &KNOWN)?;
    request
        .extras
        .extend(voice.map(|voice| ("voice".to_owned(), voice)));
    request.format = Some(format(request.format, entry, &mut report)?);
    Ok(Plan { request, report })
}

fn check_length(request: &SpeechRequest, entry: &Entry) -> Result<(), RequestError> {
    match entry.specs.max_input_characters {
        Some(most) if request.characters() > most => {
            let has = request.characters();
            let text = format!("this model speaks at most {most} characters; `input` has {has}");
            let refusal = RequestError::invalid("input", text);
            Err(refusal.with_fix("send the text in several calls"))
        }
        Some(_) | None => Ok(()),
    }
}

fn check_voice(request: &SpeechRequest, entry: &Entry) -> Result<(), RequestError> {
    let Some(voices) = &entry.specs.voices else {
        return Ok(());
    };
    if voices.contains(&request.voice) {
        return Ok(());
    }
    let text = format!(
        "`voice` of this model must be one of {}",
        field_policy::listed(voices)
    );
    Err(RequestError::invalid("voice", text))
}

fn format(
    requested: Option<SpeechFormat>,
    entry: &Entry,
    report: &mut FieldReport,
) -> Result<SpeechFormat, RequestError> {
    let listed = entry.specs.response_formats.as_deref();
    if let Some(format) = requested {
        let word = format.as_str();
        if let Some(all) = listed.filter(|all| all.iter().all(|known| known != word)) {
            let text = format!(
                "`response_format` of this model must be one of {}",
                field_policy::listed(all)
            );
            return Err(RequestError::invalid("response_format", text));
        }
        report.add(FieldNote::read("response_format"));
        return Ok(format);
    }
    let format = usual(entry);
    let why = "no format was requested, so the model's own is written out";
    let code = "response_format_defaulted";
    let note = FieldNote::new("response_format", FieldTreatment::Defaulted, code, why);
    report.add(note.with_value(format.as_str()));
    Ok(format)
}

/// The record's own format, else mp3, else the first that the record lists.
fn usual(entry: &Entry) -> SpeechFormat {
    let own = entry.default_response_format.as_deref();
    let listed = entry.specs.response_formats.as_deref().unwrap_or_default();
    let mp3 = Some("mp3").filter(|word| listed.is_empty() || listed.iter().any(|w| w == word));
    let first = listed.first().map(String::as_str);
    let word = own.or(mp3).or(first);
    word.and_then(SpeechFormat::parse)
        .unwrap_or(SpeechFormat::Mp3)
}
