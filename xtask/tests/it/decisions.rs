//! Decisions change by a decision record, and where documents disagree the reading is settled by a test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[expect(clippy::disallowed_methods, reason = "files of this repository")]
fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// FNV-1a of a sentence: the specification's words must not enter the repository.
fn fingerprint(sentence: &str) -> String {
    let hash = sentence
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("{hash:016x}")
}

/// Every decision with the fingerprint of its sentence, and the record that changed it.
fn decisions() -> BTreeMap<String, (String, String)> {
    let table = text(&root().join("docs/conformance/decisions.tsv"));
    let rows = table.lines().skip(1).map(|row| {
        let cells: Vec<&str> = row.split('\t').collect();
        let [id, fingerprint, record] = cells.as_slice() else {
            panic!("{row}");
        };
        (
            (*id).to_owned(),
            ((*fingerprint).to_owned(), (*record).to_owned()),
        )
    });
    rows.collect()
}

// covers: D-0-01
#[test]
fn a_decision_differs_from_the_recorded_one_only_with_a_decision_record() {
    let decisions = decisions();
    assert!(decisions.len() > 500, "{}", decisions.len());
    let index = text(&root().join("docs/adr/README.md"));
    for (id, (_, record)) in &decisions {
        if record == "-" {
            continue;
        }
        let words = text(&root().join("docs/adr").join(record));
        assert!(words.contains(id), "{record} does not name {id}");
        assert!(
            index.contains(record),
            "{record} is not in the list of records"
        );
    }
    // Where the specification is at hand, each sentence is the one that was recorded.
    let spec = root().join("../shared/spec/requirements.tsv");
    if !spec.exists() {
        return;
    }
    let mut seen = BTreeSet::new();
    for row in text(&spec).lines().filter(|row| row.starts_with("D-")) {
        let cells: Vec<&str> = row.split('\t').collect();
        let (id, sentence) = (cells[0], cells[2]);
        let known = decisions
            .get(id)
            .map(|(fingerprint, _)| fingerprint.as_str());
        let why = "a decision changed: write a record in docs/adr and name it in docs/conformance/decisions.tsv";
        assert_eq!(known, Some(fingerprint(sentence).as_str()), "{id}: {why}");
        seen.insert(id.to_owned());
    }
    assert_eq!(seen, decisions.into_keys().collect());
}

/// Every id that a test of the repository claims.
fn claimed() -> BTreeSet<String> {
    let mut folders = vec![root().join("crates"), root().join("xtask/tests")];
    let mut ids = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let text = text(&path);
                let marks = text
                    .lines()
                    .filter_map(|line| line.trim().strip_prefix("// covers: "));
                ids.extend(marks.flat_map(|ids| ids.split(", ").map(str::to_owned)));
            }
        }
    }
    ids
}

// covers: D-0-02
#[test]
fn the_order_of_authority_is_written_down_and_every_settled_conflict_has_a_test() {
    let page = text(&root().join("docs/dev/testing.md"));
    let order = "specification, then decisions, then the issue, then design, then style and facts";
    assert!(
        page.contains(order),
        "docs/dev/testing.md does not say: {order}"
    );
    let claimed = claimed();
    let settled = ["D-6-", "D-7-"];
    let conflicts: Vec<String> = decisions()
        .into_keys()
        .filter(|id| settled.iter().any(|section| id.starts_with(section)))
        .collect();
    assert!(conflicts.len() > 200, "{}", conflicts.len());
    // The console's page is claimed by a test of the pages.
    let pages = ["D-7-MON-17"];
    for id in &conflicts {
        assert!(
            claimed.contains(id) || pages.contains(&id.as_str()),
            "{id} has no test"
        );
    }
}
