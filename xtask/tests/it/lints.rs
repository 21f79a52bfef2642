//! The lint table and `clippy.toml` of this repository, tried on a throw-away crate with the real clippy.

use std::process::Command;

use crate::fixture::{Fixture, Run, repository_file};

const CLEAN: &str = "//! A module.\n\n/// Adds one.\n#[must_use]\npub const fn next(number: u8) -> Option<u8> {\n    number.checked_add(1)\n}\n";

/// Each function holds one call that our lints ban.
const SPOILT: &str = r#"//! A module.

/// Banned call.
pub fn environment() -> bool {
    std::env::var("HOME").is_ok()
}
/// Banned call.
pub fn clock() -> std::time::SystemTime {
    std::time::SystemTime::now()
}
/// Banned call.
pub fn queue() {
    drop(std::sync::mpsc::channel::<u8>());
}
/// Banned call.
pub fn exit() {
    std::process::exit(1);
}
/// Stops the process.
pub fn unwraps(number: Option<u8>) -> u8 {
    number.unwrap()
}
/// Stops the process.
pub fn expects(number: Option<u8>) -> u8 {
    number.expect("a number")
}
/// Stops the process.
pub fn panics() {
    panic!("no");
}
/// Stops the process.
pub fn indexes(numbers: &[u8]) -> u8 {
    numbers[1]
}
/// Writes past the log.
pub fn prints() {
    println!("hello");
}
/// Hides a lint.
#[allow(dead_code, reason = "none is good enough")]
fn hidden() {}
"#;

/// What clippy must say about each of them.
const EXPECTED: [&str; 10] = [
    "use of a disallowed method `std::env::var`",
    "use of a disallowed method `std::time::SystemTime::now`",
    "use of a disallowed method `std::sync::mpsc::channel`",
    "use of a disallowed method `std::process::exit`",
    "used `unwrap()` on an `Option` value",
    "used `expect()` on an `Option` value",
    "`panic` should not be present in production code",
    "indexing may panic",
    "use of `println!`",
    "#[allow] attribute found",
];

/// No dependencies, so that it builds offline and in a moment.
fn crate_with_the_workspace_lints(source: &str) -> Fixture {
    let root: toml::Table = repository_file("Cargo.toml").parse().unwrap();
    let lints = root["workspace"]["lints"].clone();
    let mut manifest = toml::Table::new();
    let package = "name = \"spoilt\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n";
    manifest.insert(
        "package".to_owned(),
        package.parse::<toml::Table>().unwrap().into(),
    );
    manifest.insert("lints".to_owned(), lints);
    // Its own workspace, whatever lies above the temporary folder.
    manifest.insert("workspace".to_owned(), toml::Table::new().into());

    let fixture = Fixture::empty();
    fixture.write("Cargo.toml", &manifest.to_string());
    fixture.write("clippy.toml", &repository_file("clippy.toml"));
    fixture.write(
        "rust-toolchain.toml",
        &repository_file("rust-toolchain.toml"),
    );
    fixture.write("src/lib.rs", source);
    fixture
}

fn clippy(fixture: &Fixture) -> Run {
    let mut command = Command::new("cargo");
    command
        .args(["clippy", "--offline", "--quiet", "--color", "never"])
        .current_dir(fixture.root())
        .env("CARGO_TARGET_DIR", fixture.root().join("target"))
        // Flags of the surrounding build could silence or add lints.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    Run::of(command)
}

#[test]
fn banned_calls_do_not_pass_clippy() {
    clippy(&crate_with_the_workspace_lints(CLEAN)).passes();

    let run = clippy(&crate_with_the_workspace_lints(SPOILT));
    for message in EXPECTED {
        run.refuses(&format!("error: {message}"), "");
    }
    let errors = EXPECTED.len();
    assert!(
        run.text
            .contains(&format!("due to {errors} previous errors")),
        "{}",
        run.text
    );
}
