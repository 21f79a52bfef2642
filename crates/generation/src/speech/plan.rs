//! A request for speech by the model's record.

use trunkline_catalog::{Entry, Fate, Note, Refusal, Report};
use trunkline_probe::SpeechFormat;

use super::{Ask, Plan};
use crate::policy;

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
pub fn plan(mut ask: Ask, entry: &Entry) -> Result<Plan, Refusal> {
    let mut report = Report::default();
    for name in ["model", "input", "voice"] {
        report.say(Note::read(name));
    }
    check_length(&ask, entry)?;
    check_voice(&ask, entry)?;
    policy::own(&mut report, entry, "speed", &mut ask.speed)?;
    policy::own(&mut report, entry, "instructions", &mut ask.instructions)?;
    policy::ours(&mut report, entry, &mut ask.extras, "stream_format")?;
    let voice = ask.extras.remove("voice");
    policy::extras(&mut report, entry, &mut ask.extras, &KNOWN)?;
    ask.extras
        .extend(voice.map(|voice| ("voice".to_owned(), voice)));
    ask.format = Some(format(ask.format, entry, &mut report)?);
    Ok(Plan { ask, report })
}

fn check_length(ask: &Ask, entry: &Entry) -> Result<(), Refusal> {
    match entry.specs.max_input_characters {
        Some(most) if ask.characters() > most => {
            let has = ask.characters();
            let text = format!("this model speaks at most {most} characters; `input` has {has}");
            let refusal = Refusal::invalid("input", text);
            Err(refusal.with_fix("send the text in several calls"))
        }
        Some(_) | None => Ok(()),
    }
}

fn check_voice(ask: &Ask, entry: &Entry) -> Result<(), Refusal> {
    let Some(voices) = &entry.specs.voices else {
        return Ok(());
    };
    if voices.contains(&ask.voice) {
        return Ok(());
    }
    let text = format!(
        "`voice` of this model must be one of {}",
        policy::listed(voices)
    );
    Err(Refusal::invalid("voice", text))
}

fn format(
    asked: Option<SpeechFormat>,
    entry: &Entry,
    report: &mut Report,
) -> Result<SpeechFormat, Refusal> {
    let listed = entry.specs.response_formats.as_deref();
    if let Some(format) = asked {
        let word = format.word();
        if let Some(all) = listed.filter(|all| all.iter().all(|known| known != word)) {
            let text = format!(
                "`response_format` of this model must be one of {}",
                policy::listed(all)
            );
            return Err(Refusal::invalid("response_format", text));
        }
        report.say(Note::read("response_format"));
        return Ok(format);
    }
    let format = usual(entry);
    let why = "nobody asked for a format, so the model's own is written out";
    let code = "response_format_defaulted";
    let note = Note::told("response_format", Fate::Defaulted, code, why);
    report.say(note.with_value(format.word()));
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
