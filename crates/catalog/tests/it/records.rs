//! Records as they are served, against files: `tests/fixtures/records/<name>.toml` is a catalog with
//! one model, `<name>.json` the record it must make. A new case is a new pair of files.

mod book_faces;
mod fields;
mod groups;
mod ratios;
mod specs;
mod vendor_lists;

use std::path::{Path, PathBuf};

use serde_json::Value;
use trunkline_catalog::{Book, Document, Routes, View};

/// The record of the only model of a catalog, seen from its first group.
pub(crate) fn served(book: &Book) -> Value {
    seen_from(book, book.header().groups.keys().next().unwrap())
}

pub(crate) fn seen_from(book: &Book, group: &str) -> Value {
    seen_with(book, group, Routes::default())
}

pub(crate) fn seen_with(book: &Book, group: &str, routes: Routes) -> Value {
    let name = book.models().next().unwrap();
    let record = View { book, group }.record(name, routes).unwrap();
    // As a client gets it: through text.
    serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap()
}

/// The catalog of a fixture.
pub(crate) fn fixture(name: &str) -> Book {
    Book::from_toml(&read(&folder().join(name).with_extension("toml"))).unwrap()
}

/// A catalog with one model `m` in the group `g`: the fields of its entry as JSON, without braces.
pub(crate) fn entry(fields: &str) -> Result<Book, String> {
    let text = format!(
        r#"{{"groups":{{"g":{{"rate":"1"}}}},"models":{{"m":{{"groups":["g"],{fields}}}}}}}"#
    );
    Book::from_json(&text).map_err(|error| error.to_string())
}

/// The same with a price by tokens.
pub(crate) fn chat_entry(fields: &str) -> Result<Book, String> {
    let prices = r#""prices":{"billing_unit":"tokens","standard":{"input":10,"output":20}}"#;
    entry(&format!("{prices},{fields}"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/records")
}

fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8(bytes).unwrap()
}

fn fixtures() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn every_fixture_makes_the_record_beside_it() {
    let names = fixtures();
    assert!(names.len() >= 12, "{names:?}");
    for name in names {
        let book = fixture(&name);
        assert_eq!(book.count(), 1, "{name} has one model");
        let mut record = served(&book);
        // The hash of the prices has tests of its own; here it would only repeat the numbers.
        let version = record.as_object_mut().unwrap().remove("pricing_version");
        assert_eq!(version.unwrap(), book.version().to_string(), "{name}");
        let expected: Value =
            serde_json::from_str(&read(&folder().join(&name).with_extension("json"))).unwrap();
        assert_eq!(record, expected, "{name}: {record:#}");
    }
}

#[test]
fn a_catalog_survives_being_written_and_read_again() {
    for name in fixtures() {
        let book = fixture(&name);
        let json = serde_json::to_string(&book.document()).unwrap();
        let repeated = Book::check(Document::from_json(&json).unwrap()).unwrap();
        assert_eq!(repeated.document(), book.document(), "{name}");
        assert_eq!(repeated.version(), book.version(), "{name}");
        assert_eq!(served(&repeated), served(&book), "{name}");
    }
}
