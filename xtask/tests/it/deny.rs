//! `deny.toml` of this repository, tried with the real cargo-deny on workspaces of stubs.
//!
//! Without cargo-deny these tests fail: a wall that was not tried does not stand.

use std::process::Command;

use crate::fixture::{Fixture, Run, repository_file};

/// A workspace where one crate of ours uses one stub that has an outside crate's name.
fn workspace(noun: &str, outside: &str) -> Fixture {
    let fixture = Fixture::empty();
    let manifest = "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\", \"stubs/*\"]\n";
    fixture.write("Cargo.toml", manifest);
    fixture.write("deny.toml", &repository_file("deny.toml"));
    let entry = format!("[dependencies]\n{outside} = {{ path = \"../../stubs/{outside}\" }}\n");
    fixture.add_crate(noun, &entry);
    let stub = format!(
        "[package]\nname = \"{outside}\"\nversion = \"9.9.9\"\nedition = \"2024\"\npublish = false\n"
    );
    fixture.write(&format!("stubs/{outside}/Cargo.toml"), &stub);
    fixture.write(&format!("stubs/{outside}/src/lib.rs"), "");
    fixture
}

fn check_bans(fixture: &Fixture) -> Run {
    let version = Command::new("cargo-deny").arg("--version").output();
    assert!(
        version.is_ok_and(|output| output.status.success()),
        "cargo-deny is not on the PATH; `cargo install cargo-deny --version 0.20.2 --locked`, \
         or put the folder that holds it on the PATH"
    );
    let mut command = Command::new("cargo-deny");
    command
        .args(["--offline", "--color", "never", "check", "bans"])
        .current_dir(fixture.root());
    Run::of(command)
}

#[test]
fn another_tls_is_refused_for_every_crate() {
    for outside in ["ring", "openssl", "openssl-sys", "native-tls"] {
        let run = check_bans(&workspace("db", outside));
        run.refuses(
            &format!("error[banned]: crate '{outside} = 9.9.9'"),
            "banned",
        );
    }
}

#[test]
fn an_engine_is_refused_for_a_crate_that_must_not_know_it() {
    for (noun, outside) in [
        ("types", "sqlx"),
        ("catalog", "sqlx"),
        ("keyring", "sqlx"),
        ("db", "sqlx-core"),
        ("types", "redis"),
        ("app", "redis"),
        ("app", "async-nats"),
        ("app", "sqlx"),
    ] {
        let run = check_bans(&workspace(noun, outside));
        run.refuses("error[", outside);
        assert!(run.text.contains("bans FAILED"), "{}", run.text);
    }
}

#[test]
fn an_engine_passes_for_the_crate_that_owns_it() {
    for (noun, outside) in [
        ("db", "sqlx"),
        ("ledger", "sqlx"),
        ("testkit", "sqlx"),
        ("testkit", "redis"),
        ("testkit", "async-nats"),
        ("types", "serde"),
    ] {
        check_bans(&workspace(noun, outside)).passes();
    }
}
