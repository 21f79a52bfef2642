//! The matrix of what survives, made by translating and looking. `just formats` writes it into
//! docs/guide/formats.md; this test fails when the page is stale, and when something is lost without a word.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use trunkline_wire::canonical::{Conversation, LossKind, Notes};
use trunkline_wire::{Format, Request};

use crate::pairs::answers::{ANSWERS, answer_cell};
use crate::pairs::corpus::in_path;
use crate::pairs::features::{FEATURES, Feature};
use crate::pairs::probes::probe;
use crate::pairs::translate::{is_updating, sent};

const BEGIN: &str = "<!-- made by `just formats`: begin -->";
const END: &str = "<!-- made by `just formats`: end -->";

/// What changes its form without a note, since nothing of its meaning is lost.
const SILENT: &[(&str, &str)] = &[
    ("several system blocks", "they are joined by an empty line"),
    (
        "tool namespaces",
        "groups become part of names, and are taken apart again in answers",
    ),
];

/// What becomes of a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell {
    Kept,
    Approximated,
    Dropped,
    Refused,
}

impl Cell {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Approximated => "approximated",
            Self::Dropped => "dropped",
            Self::Refused => "refused",
        }
    }
}

/// Whether notes tell of a feature, and what they say became of it.
pub(crate) fn reported_loss(notes: &Notes, feature: &Feature) -> Option<LossKind> {
    let is_about = |field: &str| {
        // `n` alone is the whole name of a field.
        let word = |word: &&str| {
            if *word == "n" {
                field == "n"
            } else {
                field.contains(*word)
            }
        };
        feature.words.iter().any(word)
    };
    let mut about = notes.all().iter().filter(|note| is_about(&note.field));
    let first = about.next()?.loss;
    let dropped = about.any(|note| note.loss == LossKind::Dropped);
    Some(if dropped { LossKind::Dropped } else { first })
}

/// The conversation as an upstream of a format reads it.
pub(crate) fn arrived(to: Format, body: Vec<u8>) -> Conversation {
    let request = Request::read(to, Bytes::from(body), in_path(to));
    let request = request.unwrap_or_else(|refusal| panic!("{}: {refusal}", to.as_str()));
    request.canonical().unwrap()
}

/// What becomes of a feature on the way; none if the caller's format cannot say it.
pub(crate) fn cell(feature: &Feature, from: Format, to: Format) -> Option<Cell> {
    look(feature, from, to).map(|(cell, _)| cell)
}

/// The same, and what was lost without a word.
fn look(feature: &Feature, from: Format, to: Format) -> Option<(Cell, Option<String>)> {
    let conversation = probe(from, feature.name)?;
    let before = (feature.take)(&conversation);
    assert!(!before.is_null(), "{} in {}", feature.name, from.as_str());
    let written = sent(to, &conversation);
    if written.notes.first_refused().is_some() {
        return Some((Cell::Refused, None));
    }
    let after = (feature.take)(&arrived(to, written.body));
    let loss = reported_loss(&written.notes, feature);
    let cell = match (after == before, loss) {
        (true, None | Some(LossKind::Dropped)) | (_, Some(LossKind::Renamed)) => Cell::Kept,
        (_, Some(LossKind::Approximated | LossKind::Refused)) => Cell::Approximated,
        (false, Some(LossKind::Dropped)) => Cell::Dropped,
        (false, None) if after.is_null() => Cell::Dropped,
        (false, None) => Cell::Approximated,
    };
    let may_be_silent = SILENT.iter().any(|(name, _)| *name == feature.name);
    let cell = match cell {
        Cell::Dropped if loss.is_none() && may_be_silent => Cell::Approximated,
        other @ (Cell::Kept | Cell::Approximated | Cell::Dropped | Cell::Refused) => other,
    };
    let silent = (cell != Cell::Kept && loss.is_none() && !may_be_silent).then(|| {
        let (name, from, to) = (feature.name, from.as_str(), to.as_str());
        format!("{name}, {from} to {to}: {before} became {after}")
    });
    Some((cell, silent))
}

#[test]
fn nothing_is_lost_without_a_word() {
    let mut silent = Vec::new();
    for feature in FEATURES {
        for from in Format::ALL {
            for to in Format::ALL.into_iter().filter(|to| *to != from) {
                silent.extend(look(feature, from, to).and_then(|(_, silent)| silent));
            }
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

type Row = (&'static str, BTreeMap<Format, Cell>);

fn table(title: &str, others: &[Format], rows: &[Row]) -> String {
    let mut text = format!("\n### {title}\n\n|   |");
    for other in others {
        text.push_str(&format!(" {} |", other.as_str()));
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(others.len()));
    text.push('\n');
    for (name, cells) in rows {
        let words: Vec<&str> = others.iter().map(|other| cells[other].as_str()).collect();
        text.push_str(&format!("| {name} | {} |\n", words.join(" | ")));
    }
    text
}

fn rendered() -> String {
    let mut text = String::from(
        "\n## Requests\n\nOne table for each format a caller speaks; the columns are the formats of upstreams. A thing that has no line cannot be said in the caller's format.\n",
    );
    for from in Format::ALL {
        let others: Vec<Format> = Format::ALL.into_iter().filter(|it| *it != from).collect();
        let mut rows: Vec<Row> = Vec::new();
        for feature in FEATURES {
            let cells = others
                .iter()
                .filter_map(|to| Some((*to, cell(feature, from, *to)?)));
            let cells: BTreeMap<Format, Cell> = cells.collect();
            if !cells.is_empty() {
                rows.push((feature.name, cells));
            }
        }
        text.push_str(&table(
            &format!("From a caller of {}", from.as_str()),
            &others,
            &rows,
        ));
    }
    text.push_str("\n## Answers\n\nOne table for each format an upstream answers in; the columns are the formats of callers. `dropped` for a kind of tokens means that the caller's format has no place to show it apart: it is in the sum, and it is billed as what it is.\n");
    for from in Format::ALL {
        let others: Vec<Format> = Format::ALL.into_iter().filter(|it| *it != from).collect();
        let mut rows: Vec<Row> = Vec::new();
        for feature in ANSWERS {
            let cells = others
                .iter()
                .filter_map(|to| Some((*to, answer_cell(feature, from, *to)?)));
            let cells: BTreeMap<Format, Cell> = cells.collect();
            if !cells.is_empty() {
                rows.push((feature.name, cells));
            }
        }
        text.push_str(&table(
            &format!("From an upstream of {}", from.as_str()),
            &others,
            &rows,
        ));
    }
    text.push('\n');
    text
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/formats.md")
}

#[test]
fn the_page_holds_the_matrix_of_what_survives() {
    let bytes = fs::read(page()).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, rest) = text.split_once(BEGIN).unwrap();
    let (kept, tail) = rest.split_once(END).unwrap();
    let now = rendered();
    if is_updating() {
        fs::write(page(), format!("{head}{BEGIN}{now}{END}{tail}")).unwrap();
        return;
    }
    assert!(
        kept == now,
        "docs/guide/formats.md is stale: run `just formats`"
    );
}

#[test]
fn what_may_change_in_silence_says_why() {
    for (name, why) in SILENT {
        assert!(FEATURES.iter().any(|feature| feature.name == *name) && !why.is_empty());
    }
}
