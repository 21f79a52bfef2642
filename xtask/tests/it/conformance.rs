//! `xtask conformance` against a small specification and tests that claim it rightly or wrongly.

use std::fs;

use crate::fixture::{Fixture, Run};

const REPORT: &str = "target/conformance.md";
const WORDS: &str = "docs/conformance/words.tsv";
const TESTS: &str = "crates/types/src/lib.rs";

const SPEC: &str = "id\tsection\trequirement\thow to test\n\
    D-9-01\t1\tThe lamp in the hall burns from dusk till dawn.\tlook\n\
    D-9-02\t1\tThe gate is shut.\tlook\n\
    D-9-03\t1\tThe cat is in.\tlook\n\
    S-9-P01-01\t1\tThe dog is out.\tlook\n";

const COVERED: &str = "//! A module.\n\n// covers: D-9-02\n#[test]\nfn the_gate() {}\n";

/// A checkout with the specification beside it, words for one id and a test that covers it; not yet run.
fn claimed() -> Fixture {
    let fixture = Fixture::clean();
    fixture.write("../shared/spec/requirements.tsv", SPEC);
    fixture.write(WORDS, "id\twords\nD-9-02\tshut gate\n");
    fixture.write(TESTS, COVERED);
    fixture
}

fn generated() -> Fixture {
    let fixture = claimed();
    fixture.xtask(&["conformance"]).passes();
    fixture
}

fn check(fixture: &Fixture) -> Run {
    fixture.xtask(&["conformance", "--check"])
}

#[test]
fn a_generated_report_names_the_tests_and_folds_what_is_missing() {
    let fixture = generated();
    let run = check(&fixture);
    run.passes();
    let counts: Vec<Vec<_>> = run
        .text
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        counts,
        [
            ["D-9", "1", "2"],
            ["S-9-P01", "0", "1"],
            ["total", "1", "3"]
        ]
    );
    let report = fixture.read(REPORT);
    let entry = "- **D-9-02** shut gate\n  - `crates/types/src/lib.rs` `the_gate`\n";
    assert!(report.contains(entry), "{report}");
    assert!(report.contains("| D-9 | 1 | 3 | 01, 03 |"), "{report}");
    assert!(report.contains("1 of 4 requirements"), "{report}");
}

#[test]
fn no_sentence_of_the_specification_enters_the_repository() {
    let fixture = generated();
    let sentences = ["burns from dusk", "gate is shut", "cat is in", "dog is out"];
    for path in [REPORT, "docs/conformance/ids.tsv"] {
        let text = fixture.read(path);
        assert!(
            !sentences.iter().any(|words| text.contains(words)),
            "{text}"
        );
    }
    let copied = "D-9-01\tlamp in the hall burns from dusk\n";
    fixture.append(WORDS, copied);
    check(&fixture).refuses(
        "docs/conformance/words.tsv:3:",
        "copied from the specification",
    );
}

#[test]
fn an_unknown_id_is_refused_with_and_without_the_specification() {
    let fixture = generated();
    fixture.replace(TESTS, "D-9-02", "D-9-02, D-9-77");
    check(&fixture).refuses(
        "crates/types/src/lib.rs:3:",
        "`D-9-77` is no requirement id",
    );
    fs::remove_dir_all(fixture.root().join("../shared")).unwrap();
    let run = check(&fixture);
    run.refuses(
        "crates/types/src/lib.rs:3:",
        "`D-9-77` is no requirement id",
    );
    run.counts(1);
}

#[test]
fn a_checkout_without_the_specification_is_checked_by_its_own_list() {
    let fixture = generated();
    fs::remove_dir_all(fixture.root().join("../shared")).unwrap();
    check(&fixture).passes();
}

#[test]
fn a_claim_that_belongs_to_no_test_is_refused() {
    let fixture = generated();
    fixture.append(TESTS, "\n// covers: D-9-03\nfn helper() {}\n");
    let run = check(&fixture);
    run.refuses("crates/types/src/lib.rs:7:", "belongs to no test");
    run.counts(1);
}

#[test]
fn a_covered_id_without_words_is_refused() {
    let fixture = generated();
    fixture.append(TESTS, "\n// covers: D-9-03\n#[test]\nfn the_cat() {}\n");
    let run = fixture.xtask(&["conformance"]);
    run.refuses(
        "crates/types/src/lib.rs:7:",
        "D-9-03 is covered but has no words",
    );
    assert!(
        !fixture.read(REPORT).contains("the_cat"),
        "nothing is written over findings"
    );
}

#[test]
fn words_for_an_unknown_id_are_refused() {
    let fixture = generated();
    fixture.append(WORDS, "D-9-99\tnothing\n");
    check(&fixture).refuses(
        "docs/conformance/words.tsv:3:",
        "`D-9-99` is no requirement id",
    );
}

#[test]
fn a_report_is_written_anew_by_each_run_and_not_compared_by_check() {
    let fixture = generated();
    fixture.replace(TESTS, "the_gate", "the_front_gate");
    check(&fixture).passes();
    assert!(!fixture.read(REPORT).contains("the_front_gate"));
    fixture.xtask(&["conformance"]).passes();
    assert!(fixture.read(REPORT).contains("the_front_gate"));
}

#[test]
fn an_id_list_that_is_out_of_date_is_refused_by_check() {
    let fixture = generated();
    fixture.append(
        "../shared/spec/requirements.tsv",
        "D-9-04\t1\tThe lamp is out.\tlook\n",
    );
    check(&fixture).refuses("docs/conformance/ids.tsv:2:", "out of date");
}

#[test]
fn a_specification_that_was_named_must_be_there() {
    let fixture = generated();
    let run = fixture.xtask(&["conformance", "--check", "--spec", "nowhere.tsv"]);
    run.refuses("xtask: reading the specification nowhere.tsv", "");
    let elsewhere = fixture.root().join("../shared/spec/requirements.tsv");
    let elsewhere = elsewhere.to_str().unwrap();
    fixture
        .xtask(&["conformance", "--check", "--spec", elsewhere])
        .passes();
}
