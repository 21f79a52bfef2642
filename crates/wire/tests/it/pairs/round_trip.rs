//! There and back: what the matrix says survives a pair in both directions is there after A → B → A.

use std::collections::BTreeMap;

use trunkline_wire::canonical::TranslationState;
use trunkline_wire::{Format, read_response, write_response};

use crate::pairs::answers::{ANSWERS, answer_cell};
use crate::pairs::corpus::cases;
use crate::pairs::features::FEATURES;
use crate::pairs::matrix::{Cell, arrived, cell, reported_loss};
use crate::pairs::translate::{answered, meta, sent};

type Kept = BTreeMap<(Format, Format), Vec<usize>>;

fn pairs() -> impl Iterator<Item = (Format, Format)> {
    let all = Format::ALL.into_iter();
    all.flat_map(|from| Format::ALL.into_iter().map(move |to| (from, to)))
        .filter(|(from, to)| from != to)
}

fn kept_requests() -> Kept {
    let kept = |from, to, number: &usize| {
        let feature = &FEATURES[*number];
        cell(feature, from, to) == Some(Cell::Kept) && cell(feature, to, from) == Some(Cell::Kept)
    };
    let numbers = |from, to| (0..FEATURES.len()).filter(move |number| kept(from, to, number));
    pairs()
        .map(|(from, to)| ((from, to), numbers(from, to).collect()))
        .collect()
}

#[test]
fn a_request_that_goes_there_and_back_keeps_what_the_matrix_says() {
    let kept = kept_requests();
    let (mut compared, mut wrong) = (0, Vec::new());
    for case in cases() {
        let Some(conversation) = case.conversation() else {
            continue;
        };
        let from = case.request.0;
        for to in Format::ALL.into_iter().filter(|to| *to != from) {
            let there = sent(to, &conversation);
            if there.notes.first_refused().is_some() {
                continue;
            }
            let away = arrived(to, there.body);
            let back = sent(from, &away);
            if back.notes.first_refused().is_some() {
                continue;
            }
            let home = arrived(from, back.body);
            for number in &kept[&(from, to)] {
                let feature = &FEATURES[*number];
                let before = (feature.take)(&conversation);
                let noted = [&there.notes, &back.notes]
                    .into_iter()
                    .any(|notes| reported_loss(notes, feature).is_some());
                if before.is_null() || noted {
                    continue;
                }
                compared += 1;
                let after = (feature.take)(&home);
                if after != before {
                    let (case, name, to) = (&case.name, feature.name, to.as_str());
                    wrong.push(format!("{case}: {name} through {to}: {before} is {after}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 500, "{compared}");
}

#[test]
fn an_answer_that_goes_there_and_back_keeps_what_the_matrix_says() {
    let (mut compared, mut wrong) = (0, Vec::new());
    for case in cases() {
        let Some((from, body)) = &case.answer else {
            continue;
        };
        let first = read_response(*from, body).unwrap();
        for to in Format::ALL.into_iter().filter(|to| to != from) {
            let away = answered(*from, to, body, &TranslationState::default()).unwrap();
            let away = read_response(to, &away).unwrap();
            let home = write_response(*from, &away, &meta(*from));
            let home = read_response(*from, &home).unwrap();
            for feature in ANSWERS {
                let kept = |one, two| answer_cell(feature, one, two) == Some(Cell::Kept);
                let before = (feature.take)(&first);
                if before.is_null() || !kept(*from, to) || !kept(to, *from) {
                    continue;
                }
                compared += 1;
                let after = (feature.take)(&home);
                if after != before {
                    let (case, name, to) = (&case.name, feature.name, to.as_str());
                    wrong.push(format!("{case}: {name} through {to}: {before} is {after}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared > 500, "{compared}");
}
