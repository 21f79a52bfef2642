//! The error reference explains every code. The closed enums of codes are compared in `edge` and `console`;
//! this looks for codes that crates write as literals.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../../../../docs/guide/errors.md");
/// What a code follows in the source: the treatment of a field, a request error, a warning, a task's error.
const MARKS: [&str; 7] = [
    "FieldTreatment::",
    "ErrorCode::Invalid(",
    "ErrorCode::Rule(",
    "RequestError::new(",
    "late_warnings.push(",
    "code: ",
    "let code = ",
];
/// Crates whose codes reach callers.
const CRATES: [&str; 9] = [
    "account-api",
    "catalog",
    "console",
    "edge",
    "gateway",
    "generation",
    "social",
    "types",
    "wire",
];
/// Words behind such a mark that no caller is told.
const NOT_TOLD: [&str; 1] = [
    // What a vendor's answer is called inside, before it becomes `upstream_error`.
    "unreadable_answer",
];

#[expect(clippy::disallowed_methods, reason = "the files are our own source")]
fn sources() -> Vec<(PathBuf, String)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<PathBuf> = CRATES
        .iter()
        .map(|name| top.join(name).join("src"))
        .collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.contains("test") && !path.ends_with("lint.rs")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                let product = text.split("#[cfg(test)]").next().unwrap().to_owned();
                files.push((path, product));
            }
        }
    }
    files
}

/// The constants that are words, by name.
fn constants(files: &[(PathBuf, String)]) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, text) in files {
        for piece in text.split("const ").skip(1) {
            let Some((name, rest)) = piece.split_once(": &str =") else {
                continue;
            };
            if let Some(word) = rest.trim_start().strip_prefix('"') {
                let word = word.split('"').next().unwrap().to_owned();
                found.entry(name.to_owned()).or_default().insert(word);
            }
        }
    }
    found
}

fn is_word(word: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || "_.".contains(character);
    let is_alphabetic = |character: char| character.is_ascii_alphabetic();
    word.len() > 3 && word.chars().all(plain) && word.chars().any(is_alphabetic)
}

#[test]
fn every_error_code_of_a_crate_has_its_entry() {
    let files = sources();
    let constants = constants(&files);
    let mut reply: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (path, text) in &files {
        if path.components().any(|part| part.as_os_str() == "lint") {
            continue;
        }
        for mark in MARKS {
            for behind in text.split(mark).skip(1) {
                let behind = match mark {
                    "FieldTreatment::" => behind.split_once(',').map_or("", |(_, behind)| behind),
                    _ => behind,
                };
                let behind = behind.trim_start();
                if let Some(literal) = behind.strip_prefix('"') {
                    let word = literal.split('"').next().unwrap();
                    reply.insert(word.to_owned(), path.clone());
                } else {
                    let capital =
                        |character: char| character.is_ascii_uppercase() || character == '_';
                    let name: String = behind
                        .chars()
                        .take_while(|character| capital(*character))
                        .collect();
                    for word in constants.get(&name).into_iter().flatten() {
                        reply.insert(word.clone(), path.clone());
                    }
                }
            }
        }
    }
    reply.retain(|word, _| is_word(word) && !NOT_TOLD.contains(&word.as_str()));
    assert!(reply.len() > 40, "{reply:#?}");
    let missing: Vec<_> = reply
        .iter()
        .filter(|(word, _)| !PAGE.contains(&format!("\n### `{word}`\n")))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
