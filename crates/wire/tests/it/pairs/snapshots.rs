//! What every case becomes in every format, beside the case. `just corpus-update` writes it anew; read
//! what changed before you commit it.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use trunkline_wire::canonical::{Notes, TranslationState};
use trunkline_wire::{Format, ResponseError};

use crate::pairs::corpus::{Case, cases};
use crate::pairs::translate::{answered, is_updating, sent, streamed};

/// Everything that a case becomes, by file name.
type Outcome = BTreeMap<String, String>;

#[test]
fn every_case_becomes_what_stands_beside_it_in_every_format() {
    let updating = is_updating();
    let mut wrong = Vec::new();
    for case in cases() {
        let now = outcome(&case);
        if updating {
            write(&case, &now);
        }
        let kept = read(&case);
        let names = now.keys().chain(kept.keys());
        for name in names.collect::<std::collections::BTreeSet<_>>() {
            if now.get(name) != kept.get(name) {
                wrong.push(format!("{}/out/{name}", case.name));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "not as committed; look at `just corpus-update` and its diff:\n{}",
        wrong.join("\n")
    );
}

fn outcome(case: &Case) -> Outcome {
    let mut out = Outcome::new();
    if let Err(refusal) = case.read() {
        let field = refusal.param.as_deref().unwrap_or("body");
        let text = format!("{} {field}: {refusal}\n", refusal.code);
        out.insert("refused.txt".to_owned(), text);
    }
    let mut threads: BTreeMap<Format, TranslationState> = BTreeMap::new();
    if let Some(conversation) = case.conversation() {
        for to in Format::ALL {
            let written = sent(to, &conversation);
            out.insert(
                format!("{}.request.json", to.as_str()),
                pretty(&written.body),
            );
            if !written.notes.all().is_empty() {
                out.insert(format!("{}.notes.txt", to.as_str()), listed(&written.notes));
            }
            threads.insert(to, written.state);
        }
    }
    let caller = case.request.0;
    for to in Format::ALL {
        // Names are those of this conversation only where its own caller is answered.
        let state = |from: Format| match threads.get(&from) {
            Some(state) if to == caller && from != caller => state.clone(),
            Some(_) | None => TranslationState::default(),
        };
        if let Some((from, body)) = &case.answer {
            let text = match answered(*from, to, body, &state(*from)) {
                Ok(body) => pretty(&body),
                Err(ResponseError::Upstream(error)) => format!("failed: {error:?}\n"),
                Err(ResponseError::Invalid) => panic!("{}: garbage", case.name),
            };
            out.insert(format!("{}.answer.json", to.as_str()), text);
        }
        if let Some((from, bytes)) = &case.stream {
            let stream = streamed(*from, to, &[bytes], &state(*from));
            let stream = String::from_utf8(stream).unwrap();
            out.insert(format!("{}.sse", to.as_str()), stream);
        }
    }
    out
}

fn pretty(body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap();
    format!("{value:#}\n")
}

fn listed(notes: &Notes) -> String {
    let lines = notes
        .all()
        .iter()
        .map(|note| format!("{} {}: {}\n", note.loss.code(), note.field, note.why));
    lines.collect()
}

fn read(case: &Case) -> Outcome {
    let Ok(entries) = fs::read_dir(case.folder.join("out")) else {
        return Outcome::new();
    };
    let entry = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, String::from_utf8(fs::read(path).unwrap()).unwrap())
    };
    entries.map(|it| entry(it.unwrap().path())).collect()
}

fn write(case: &Case, now: &Outcome) {
    let folder = case.folder.join("out");
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in now {
        fs::write(folder.join(name), text).unwrap();
    }
}
