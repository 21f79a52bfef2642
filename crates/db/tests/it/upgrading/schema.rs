//! Schemas of releases: `pg_dump` of what each made of an empty database, and what of two databases is compared.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use sqlx::{Connection as _, PgConnection};
use trunkline_db::migrate;
use trunkline_testkit::Db;
use trunkline_types::Secret;

use super::run;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/schemas");

/// What account 1000 has paid in.
pub(super) const TOPPED_UP: i64 = 25_000_000_000;

/// An account with money, so that a migration that loses some is noticed. One day of partitions is enough for
/// migrations of days that exist, and the other eight would be most of the file.
const ROWS: &str = "
    INSERT INTO ledger.account (kind, paid_posted, topped_up_at) VALUES ('live', 25000000000, app.now());
    INSERT INTO ledger.top_up (provider, event_id, request_id, account_id, wallet, amount)
    VALUES ('manual', 'fixture', ledger.fresh_id(), 1000, 'paid', 25000000000);
    INSERT INTO ledger.transfer (request_id, kind, leg, account_id, debit, credit, amount, at)
    SELECT u.request_id, 'top_up', 0, u.account_id, -2, 2000, u.amount, u.at FROM ledger.top_up AS u;
    DO $days$
    DECLARE
        day text;
    BEGIN
        FOR day IN
            SELECT right(c.relname, 8)
            FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'ledger.usage'::regclass
                AND right(c.relname, 8) <> to_char(app.now() AT TIME ZONE 'UTC', 'YYYYMMDD')
        LOOP
            EXECUTE format('DROP TABLE ledger.hold_%1$s, ledger.usage_%1$s, ledger.transfer_%1$s,
                ledger.hold_batch_%1$s, ledger.hold_extension_%1$s, app.event_%1$s', day);
            EXECUTE format('DROP FUNCTION ledger.apply_%s', day);
        END LOOP;
    END
    $days$;";

/// The file of each release, oldest first.
pub(super) fn files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[expect(clippy::disallowed_methods, reason = "the file is ours")]
pub(super) fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap()
}

/// Writes what this executable makes of an empty database, as the schema of the release that `just schema-of` names.
#[expect(
    clippy::disallowed_methods,
    reason = "a test that writes its own fixture when told to"
)]
pub(super) async fn write_if_asked() {
    let Some(release) = std::env::var_os("TRUNKLINE_SCHEMA_OF") else {
        return;
    };
    let file = format!("{FOLDER}/{}.sql", release.display());
    let db = Db::empty().await;
    migrate(&db.migrator_url()).await.unwrap();
    let url = db.superuser_url();
    let mut connection = PgConnection::connect(url.reveal()).await.unwrap();
    run(&mut connection, ROWS).await;
    let dump = dump(&url, &["--inserts"]);
    // Commands of psql, which alone knows them.
    let statements: Vec<&str> = dump
        .lines()
        .filter(|line| !line.starts_with('\\'))
        .collect();
    let text = format!("{}\n", statements.join("\n"));
    std::fs::write(file, text).unwrap();
}

fn dump(url: &Secret, words: &[&str]) -> String {
    let done = Command::new("pg_dump")
        .args(words)
        .args(["--dbname", url.reveal()])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{error}");
    String::from_utf8(done.stdout).unwrap()
}

/// All objects with their owners, privileges, comments and policies. A day's table, index or function counts once,
/// whichever days there are, and twice if two days differ.
pub(super) fn objects(url: &Secret) -> BTreeSet<String> {
    dump(url, &["--schema-only"])
        .split("\n-- Name: ")
        .skip(1)
        .map(|object| {
            let mut lines: Vec<String> = object
                .lines()
                .filter(|line| !matches!(*line, "" | "--") && !line.starts_with('\\'))
                .filter(|line| *line != "-- PostgreSQL database dump complete")
                .map(|line| without_days(&as_restored(line)))
                .collect();
            // Privileges are printed in the order in which they were given.
            if lines.first().is_some_and(|head| head.contains("ACL;")) {
                lines.sort();
            }
            lines.join("\n")
        })
        .collect()
}

/// An object that was restored from its text is printed with fewer parentheses around conditions, and without the name
/// that PostgreSQL gives a constant of a `UNION`.
fn as_restored(line: &str) -> String {
    line.replace(['(', ')'], "")
        .replace("::text AS text", "::text")
}

/// `20261126` and `2026-11-26` become words, and the bounds of a day go.
fn without_days(line: &str) -> String {
    let line = line.split(" FOR VALUES FROM ").next().unwrap_or_default();
    let is_of_date = |character: char| character.is_ascii_digit() || character == '-';
    let mut text = String::new();
    let mut rest = line;
    while let Some(begin) = rest.find(is_of_date) {
        let (before, tail) = rest.split_at(begin);
        let end = tail
            .find(|character| !is_of_date(character))
            .unwrap_or(tail.len());
        let (word, after) = tail.split_at(end);
        let dashes: Vec<usize> = word.match_indices('-').map(|(place, _)| place).collect();
        text.push_str(before);
        text.push_str(match (word.len(), dashes.as_slice()) {
            (8, []) => "YYYYMMDD",
            (10, [4, 7]) => "YYYY-MM-DD",
            _ => word,
        });
        rest = after;
    }
    text.push_str(rest);
    text
}

#[test]
fn days_are_compared_as_one() {
    let line = "    CREATE TABLE ledger.usage_20261126 PARTITION OF ledger.usage FOR VALUES FROM ('0') TO ('1');";
    let table = "    CREATE TABLE ledger.usage_YYYYMMDD PARTITION OF ledger.usage";
    assert_eq!(without_days(line), table);
    assert_eq!(
        without_days("VALUES (date '2026-11-26', -1, 1000000000000)"),
        "VALUES (date 'YYYY-MM-DD', -1, 1000000000000)"
    );
}
