//! Statements of made-up lines, of any length.

use std::collections::BTreeMap;
use std::io::{BufRead, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use trunkline_receipts::{
    CallLine, DayRecord, EndRecord, Hash, PathBuilder, RECEIPT_HEAD, STATEMENT_HEAD, Signer as _,
    SigningKey, TreeHasher, day_line, end_line, path_line, text_line,
};

use super::{by_trunkline, size};

pub(super) const ACCOUNT: i64 = 1_000;

pub(super) fn key() -> SigningKey {
    SigningKey::from_seed(&[7; 32]).unwrap()
}

pub(super) fn line(n: u64) -> String {
    let units = BTreeMap::from([
        ("input".to_owned(), n.into()),
        ("output".to_owned(), 7.into()),
    ]);
    let line = CallLine {
        n,
        kind: CallLine::KIND,
        id: format!("req_{n:032x}"),
        at: "2026-11-01T10:00:00.123456Z".to_owned(),
        key: Some(12),
        model: "gpt-5.5".to_owned(),
        endpoint: "chat".to_owned(),
        group: "default".to_owned(),
        outcome: "complete".to_owned(),
        estimated: false,
        tier: None,
        units,
        prices: "07".repeat(32),
        paid_nanos: -i64::try_from(n % 100_000).unwrap(),
        trial_nanos: 0,
    };
    line.text()
}

/// Writes a statement whose days have so many lines each.
pub(super) fn write_statement(file: &mut dyn Write, key: &SigningKey, days: &[u64]) {
    let public = key.public_key();
    file.write_all(STATEMENT_HEAD.as_bytes()).unwrap();
    let (mut first, mut previous) = (1, Hash::ZERO);
    for (place, lines) in (1..).zip(days) {
        let mut tree = TreeHasher::new();
        (first..first + lines).for_each(|n| tree.add(Hash::of_leaf(line(n).as_bytes())));
        let record = DayRecord {
            account: ACCOUNT,
            day: format!("2026-11-{place:02}"),
            first,
            lines: *lines,
            root: tree.root().unwrap(),
            previous,
            key: public,
        };
        let text = record.text();
        let signed = day_line(&public, &key.sign(text.as_bytes()).unwrap(), &text);
        file.write_all(signed.as_bytes()).unwrap();
        for n in first..first + lines {
            let text = line(n);
            let leaf = Hash::of_leaf(text.as_bytes());
            file.write_all(text_line(&leaf, &text).as_bytes()).unwrap();
        }
        (first, previous) = (first + lines, record.head());
    }
    let end = EndRecord {
        account: ACCOUNT,
        from: "2026-11-01".to_owned(),
        to: "2026-11-30".to_owned(),
        days: u64::try_from(days.len()).unwrap(),
        lines: days.iter().sum(),
        head: previous,
        key: public,
    };
    let text = end.text();
    let signed = end_line(&public, &key.sign(text.as_bytes()).unwrap(), &text);
    file.write_all(signed.as_bytes()).unwrap();
    file.flush().unwrap();
}

/// The receipt of a line of the only day.
pub(super) fn receipt(key: &SigningKey, n: u64, lines: u64) -> String {
    let leaves: Vec<Hash> = (1..=lines)
        .map(|n| Hash::of_leaf(line(n).as_bytes()))
        .collect();
    let mut tree = TreeHasher::new();
    let mut path = PathBuilder::new(n - 1, lines);
    for leaf in &leaves {
        tree.add(*leaf);
        path.add(*leaf);
    }
    let record = DayRecord {
        account: ACCOUNT,
        day: "2026-11-01".to_owned(),
        first: 1,
        lines,
        root: tree.root().unwrap(),
        previous: Hash::ZERO,
        key: key.public_key(),
    };
    let text = record.text();
    let own = line(n);
    [
        RECEIPT_HEAD.to_owned(),
        day_line(
            &key.public_key(),
            &key.sign(text.as_bytes()).unwrap(),
            &text,
        ),
        path_line(&path.finish().unwrap()),
        text_line(&Hash::of_leaf(own.as_bytes()), &own),
    ]
    .concat()
}

/// The lines of a file.
pub(super) fn count_lines(path: &Path) -> usize {
    std::io::BufReader::new(std::fs::File::open(path).unwrap())
        .split(b'\n')
        .count()
}

/// `just verify-statement`: ten million lines in 120 s; the gate has twenty thousand.
#[test]
fn the_executable_verifies_ten_million_lines_in_two_minutes_on_one_core() {
    let lines = size("TRUNKLINE_STATEMENT_LINES", 20_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("statement.txt");
    let days = [lines / 2, lines / 4, lines - lines / 2 - lines / 4];
    let file = std::fs::File::create(&path).unwrap();
    write_statement(&mut BufWriter::new(file), &key(), &days);
    let began = Instant::now();
    let verdict = by_trunkline(folder.path(), &["statement.txt".to_owned()]);
    let took = began.elapsed();
    assert!(verdict.is_ok, "{:?}", verdict.lines);
    assert!(
        verdict.lines[0].contains(&format!("lines {lines},")),
        "{:?}",
        verdict.lines
    );
    println!("{lines} lines verified in {:.1} s", took.as_secs_f64());
    println!("figures: lines={lines} seconds={}", took.as_secs());
    assert!(took <= Duration::from_secs(120), "{took:?}");
    if lines <= 20_000 {
        assert_eq!(count_lines(&path), usize::try_from(lines).unwrap() + 5);
    }
}
