//! Families that have no tests of their own: the folder of cases with the record beside them is enough,
//! and it must be there. `docs/dev/adding/family.md` says how one is added.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trunkline_catalog::{Book, Document, Specs};
use trunkline_generation::video::{KnownMedia, families};

use crate::video::price;
use crate::video::walk;

/// Families with a file of tests of their own beside this one.
const TESTED: [&str; 6] = ["a", "b", "c", "d", "e", "openai"];
const RECORD: &str = "record.toml";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/video")
}

fn text(path: &Path) -> String {
    let bytes = std::fs::read(path);
    let bytes =
        bytes.unwrap_or_else(|error| panic!("there is no file {}: {error}", path.display()));
    String::from_utf8(bytes).unwrap()
}

/// The record of a variant, of all records in a folder's file.
fn specs_of(records: &Document, word: &str) -> Specs {
    let mut all = records.models.values().map(|entry| &entry.specs);
    let found = all.find(|specs| specs.video_family.as_deref() == Some(word));
    found
        .unwrap_or_else(|| panic!("no record of {RECORD} is of the family {word}"))
        .clone()
}

/// Every case that is taken has a price in the records beside it.
fn check_prices(word: &str, records: &Document, book: &Book) {
    for entry in std::fs::read_dir(fixtures().join(word)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let case: Value = serde_json::from_str(&text(&path)).unwrap();
        if case["expect"].get("refused").is_some() {
            continue;
        }
        let model = case["request"]["model"].as_str().unwrap();
        let specs = &records.models[model].specs;
        let family = walk::family(word, case["variant"].as_str().unwrap());
        let plan = walk::planned(family, &case["request"], specs, &KnownMedia::default());
        let nanos = price::nanos(book, model, &plan.unwrap());
        assert!(nanos > 0, "{} costs nothing", path.display());
    }
}

#[test]
fn a_family_without_own_tests_has_a_record_and_both_kinds_of_cases() {
    let mut walked_words = 0;
    for family in families::ALL {
        if TESTED.contains(&family.spec_letter) {
            continue;
        }
        let written = text(&fixtures().join(family.spec_letter).join(RECORD));
        let records = Document::from_toml(&written).unwrap();
        let record =
            |variant: &str| specs_of(&records, &format!("{}_{variant}", family.spec_letter));
        for variant in family.variants {
            record(variant);
        }
        let walked = walk::folder(family.spec_letter, record);
        assert!(
            walked.refused > 0 && walked.refused < walked.cases,
            "{} needs a case that is taken and one that is refused",
            family.spec_letter
        );
        check_prices(
            family.spec_letter,
            &records,
            &Book::from_toml(&written).unwrap(),
        );
        walked_words += 1;
    }
    assert_eq!(walked_words + TESTED.len(), families::ALL.len());
}

#[test]
fn each_folder_with_a_record_belongs_to_one_family() {
    let words: BTreeSet<&str> = families::ALL
        .iter()
        .map(|family| family.spec_letter)
        .collect();
    assert_eq!(words.len(), families::ALL.len());
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let folder = entry.unwrap().path();
        if folder.join(RECORD).exists() {
            let word = folder.file_name().unwrap().to_str().unwrap();
            assert!(
                words.contains(word),
                "no family of families.rs is called {word}"
            );
        }
    }
}
