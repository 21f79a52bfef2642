//! Random changes of statements and receipts: a byte, a line that is omitted, repeated or elsewhere, a text with its
//! hash. All are found, and both verifiers say the same of each.

use std::collections::BTreeMap;
use std::path::Path;

use trunkline_receipts::{Hash, Signer as _, SigningKey};

use super::statements::{key, receipt, write_statement};
use super::{by_both, by_python, by_trunkline, size};

/// Files of one run of both verifiers.
const BATCH: u64 = 1_000;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    fn byte(&mut self) -> u8 {
        u8::try_from(self.next() & 0xFF).unwrap()
    }
}

fn lines_of(file: &[u8]) -> Vec<Vec<u8>> {
    file.split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}

/// A changed file and what was done to it.
fn changed(file: &[u8], random: &mut Random) -> (&'static str, Vec<u8>) {
    let mut bytes = file.to_vec();
    let mut lines = lines_of(file);
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(8) {
        0 | 1 => {
            let place = random.below(bytes.len());
            bytes[place] ^= 1 + random.byte() % 255;
            ("byte", bytes)
        }
        2 => {
            let place = random.below(bytes.len());
            bytes.remove(place);
            ("byte omitted", bytes)
        }
        3 => {
            let place = random.below(bytes.len());
            bytes.insert(place, random.byte());
            ("byte added", bytes)
        }
        4 => {
            lines.remove(one);
            ("omitted", lines.concat())
        }
        5 => {
            let copy = lines[one].clone();
            lines.insert(other, copy);
            ("repeated", lines.concat())
        }
        6 => {
            lines.swap(one, other);
            ("elsewhere", lines.concat())
        }
        _ => {
            forge(&mut lines[one], random);
            ("text and hash", lines.concat())
        }
    }
}

/// Another digit in the text of a line, under a hash that fits.
fn forge(line: &mut Vec<u8>, random: &mut Random) {
    let Some(text) = line
        .strip_prefix(b"L ")
        .map(|rest| rest[65..rest.len() - 1].to_vec())
    else {
        line[0] ^= 1;
        return;
    };
    let mut text = text;
    let digits: Vec<usize> = (0..text.len())
        .filter(|place| text[*place].is_ascii_digit())
        .collect();
    let place = digits[random.below(digits.len())];
    text[place] = b'0' + (text[place] - b'0' + 1 + random.byte() % 9) % 10;
    let leaf = Hash::of_leaf(&text).to_string();
    *line = [&b"L "[..], leaf.as_bytes(), b" ", &text, b"\n"].concat();
}

fn originals(key: &SigningKey) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for days in [&[5, 4, 3][..], &[1], &[2, 9]] {
        let mut file = Vec::new();
        write_statement(&mut file, key, days);
        files.push(file);
    }
    for (n, lines) in [(1, 1), (3, 7), (8, 8), (9, 11)] {
        files.push(receipt(key, n, lines).into_bytes());
    }
    files
}

/// Writes files, has both verifiers look at them, and returns what they say of each.
fn findings(folder: &Path, files: &[Vec<u8>]) -> BTreeMap<String, Vec<String>> {
    let names: Vec<String> = (0..files.len())
        .map(|place| format!("f{place:04}"))
        .collect();
    for (name, file) in names.iter().zip(files) {
        std::fs::write(folder.join(name), file).unwrap();
    }
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in by_both(folder, &names).lines {
        let (name, rest) = line.split_once(": ").unwrap();
        found
            .entry(name.to_owned())
            .or_default()
            .push(rest.to_owned());
    }
    assert_eq!(found.len(), files.len());
    found
}

/// `just verify-changes`: 100,000 changes; the gate has 2,000. TRUNKLINE_CHANGES_SEED runs one again.
#[test]
fn both_verifiers_find_every_random_change_and_say_the_same_of_it() {
    let key = key();
    let originals = originals(&key);
    let folder = tempfile::tempdir().unwrap();
    let right = findings(folder.path(), &originals);
    for (name, lines) in &right {
        assert!(lines[0].starts_with("ok: "), "{name}: {lines:?}");
    }
    let (count, seed) = (
        size("TRUNKLINE_CHANGES", 2_000),
        size("TRUNKLINE_CHANGES_SEED", 31),
    );
    let mut random = Random(seed);
    let (mut done, mut kinds) = (0, BTreeMap::<String, u64>::new());
    while done < count {
        let mut ways = Vec::new();
        let mut files = Vec::new();
        while u64::try_from(files.len()).unwrap() < BATCH.min(count - done) {
            let original = &originals[random.below(originals.len())];
            let (way, file) = changed(original, &mut random);
            // Swapping a line with itself, or adding a byte beside its like at the end, may change nothing.
            if file != *original {
                ways.push(way);
                files.push(file);
            }
        }
        for (place, (name, lines)) in findings(folder.path(), &files).into_iter().enumerate() {
            let is_found = lines.iter().all(|line| !line.starts_with("ok"));
            let file = String::from_utf8_lossy(&files[place]);
            assert!(is_found, "seed {seed}: {name}: {}: {file}", ways[place]);
            for line in &lines {
                let kind = line.split(':').next().unwrap().to_owned();
                *kinds.entry(kind).or_default() += 1;
            }
        }
        done += u64::try_from(files.len()).unwrap();
    }
    for kind in [
        "changed line",
        "missing lines",
        "misplaced line",
        "added line",
        "changed day",
        "missing days",
        "wrong signature",
        "wrong end",
        "missing end",
        "malformed",
        "changed receipt",
    ] {
        assert!(
            kinds.contains_key(kind),
            "{kind} was never found: {kinds:?}"
        );
    }
    println!("figures: changes={done}");
}

#[test]
fn both_verifiers_name_the_line_that_was_changed_omitted_or_repeated_and_a_key_that_is_not_trusted()
{
    let key = key();
    let mut file = Vec::new();
    write_statement(&mut file, &key, &[5, 4, 3]);
    let lines = lines_of(&file);
    // Line n of the first day is line n + 2 of the file.
    let with = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        lines.concat()
    };
    let text = String::from_utf8(file.clone()).unwrap();
    let cheaper = text.replacen("\"paid_nanos\":-3,", "\"paid_nanos\":-1,", 1);
    let cases: [(Vec<u8>, &[&str]); 5] = [
        (cheaper.into_bytes(), &["changed line: 3"]),
        (
            with(&|lines| drop(lines.remove(4))),
            &["missing lines: 3 to 3", "wrong end"],
        ),
        (
            with(&|lines| lines.insert(4, lines[4].clone())),
            &["misplaced line: 3", "wrong end"],
        ),
        (
            with(&|lines| lines.swap(4, 5)),
            &["missing lines: 3 to 3", "misplaced line: 3"],
        ),
        (
            with(&|lines| drop(lines.drain(7..12))),
            &["missing days: before 2026-11-03", "wrong end"],
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (case, expected) in &cases {
        let found = findings(folder.path(), std::slice::from_ref(case));
        assert_eq!(found["f0000"], *expected);
    }
    std::fs::write(folder.path().join("whole"), &file).unwrap();
    let known = format!("{{\"keys\":[{{\"public_key\":\"{}\"}}]}}", key.public_key());
    std::fs::write(folder.path().join("known.json"), known).unwrap();
    std::fs::write(folder.path().join("none.json"), "{\"keys\":[]}").unwrap();
    for (keys, is_ok) in [("known.json", true), ("none.json", false)] {
        let words = ["--keys", keys, "whole"].map(str::to_owned);
        let (ours, theirs) = (
            by_trunkline(folder.path(), &words),
            by_python(folder.path(), &words),
        );
        assert_eq!((ours.is_ok, &ours.lines), (theirs.is_ok, &theirs.lines));
        assert_eq!(ours.is_ok, is_ok);
        let unknown = "whole: unknown key: line 2 of the file";
        assert_eq!(ours.lines[0] == unknown, !is_ok, "{:?}", ours.lines);
    }
}

#[test]
fn the_python_verifier_has_at_most_150_lines() {
    let script = include_str!("../../../../../docs/verify/verify.py");
    assert!(script.lines().count() <= 150);
}
