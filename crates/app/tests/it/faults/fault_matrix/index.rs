//! docs/dev/faults.md names tests and rows, docs/dev/threats.md names tests; all must be true.

use std::collections::BTreeSet;
use std::path::Path;

const INDEX: &str = include_str!("../../../../../../docs/dev/faults.md");
const THREATS: &str = include_str!("../../../../../../docs/dev/threats.md");
/// Words shorter than this in backticks are codes and commands, not tests.
const SENTENCE: usize = 30;

/// Rows of the table: `G1`, or `P4, P5`.
fn rows() -> BTreeSet<&'static str> {
    let first = |line: &'static str| line.strip_prefix("| ")?.split(" |").next();
    let cells = INDEX.lines().filter_map(first);
    cells
        .flat_map(|cell| cell.split(", "))
        .filter(|row| row.len() > 1 && row[1..].chars().all(|digit| digit.is_ascii_digit()))
        .collect()
}

fn tests() -> BTreeSet<&'static str> {
    INDEX
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.len() >= SENTENCE && !word.contains(' '))
        .filter(|word| *word != "the_index_of_faults_is_true")
        .collect()
}

fn read(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, text);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            text.push_str(&String::from_utf8(std::fs::read(path).unwrap()).unwrap());
        }
    }
}

#[test]
fn the_index_of_faults_is_true() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = String::new();
    for name in ["app", "gateway"] {
        read(&crates.join(name).join("tests"), &mut sources);
    }
    assert!(tests().len() > 30, "{:?}", tests());
    for test in tests() {
        assert!(
            sources.contains(&format!("async fn {test}(")),
            "there is no test {test}"
        );
    }
    let marked = sources
        .lines()
        .filter_map(|line| line.strip_prefix("// row: "));
    for row in marked {
        assert!(rows().contains(row), "docs/dev/faults.md has no row {row}");
    }
    assert!(rows().len() > 35, "{:?}", rows());
}

/// The findings about money and isolation have one row each; those that are missing are not proved.
#[test]
fn every_finding_of_the_threat_model_names_a_test() {
    let numbers = |section: &'static str, numbers: std::ops::RangeInclusive<u32>| {
        numbers.map(move |number| format!("{section}-{number:02}"))
    };
    let all = numbers("G", 1..=18)
        .chain(numbers("A", 1..=5))
        .chain(numbers("A", 7..=8))
        .chain(numbers("B", 1..=1))
        .chain(numbers("I", 1..=10))
        .chain(numbers("I", 18..=18));
    let (_, findings) = THREATS.split_once("## Findings").unwrap();
    for finding in all {
        let mut rows = findings.lines().filter_map(|line| line.strip_prefix("| "));
        let is_its = |row: &&str| row.split(" | ").next().unwrap().contains(&finding);
        let row = rows.find(is_its);
        let row = row.unwrap_or_else(|| panic!("{finding} has no row"));
        assert!(row.matches('`').count() >= 2, "{finding} names no test");
    }
}

#[test]
fn the_threat_model_names_tests_that_exist() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = String::new();
    read(&crates, &mut sources);
    let quoted = THREATS.split('`').skip(1).step_by(2);
    let is_test = |word: &&str| word.matches('_').count() >= 4;
    let named: BTreeSet<&str> = quoted.filter(is_test).collect();
    assert!(named.len() > 80, "{named:?}");
    let missing: Vec<&&str> = named
        .iter()
        .filter(|test| !sources.contains(&format!("fn {test}(")))
        .collect();
    assert!(missing.is_empty(), "there is no test {missing:#?}");
}
