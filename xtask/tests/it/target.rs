//! Two checkouts that share a target folder each run what they were built of.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::fixture::{Fixture, Run, repository_file};

const WRAPPERS: [&str; 2] = ["scripts/rustc", "scripts/rustc-lint"];

/// One program that says its word, and the wrappers and settings of this repository.
fn checkout(word: &str) -> Fixture {
    let checkout = Fixture::empty();
    checkout.write(
        "Cargo.toml",
        "[package]\nname = \"same\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n",
    );
    checkout.write(
        "src/main.rs",
        &format!("fn main() {{\n    println!(\"{word}\");\n}}\n"),
    );
    for settings in [".cargo/config.toml", "rust-toolchain.toml"] {
        checkout.write(settings, &repository_file(settings));
    }
    for wrapper in WRAPPERS {
        checkout.write(wrapper, &repository_file(wrapper));
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(checkout.root().join(wrapper), executable).unwrap();
    }
    checkout
}

/// What the program says that cargo builds and runs in a checkout, with the wrapper of its settings or another.
fn says(checkout: &Fixture, wrapper: Option<&str>, target: &Path) -> String {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["run", "--quiet", "--offline"])
        .current_dir(checkout.root())
        .env("CARGO_TARGET_DIR", target)
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTC_WRAPPER");
    if let Some(wrapper) = wrapper {
        cargo.env("RUSTC_WORKSPACE_WRAPPER", checkout.root().join(wrapper));
    }
    let run = Run::of(cargo);
    run.passes();
    run.text.trim().to_owned()
}

#[test]
fn two_checkouts_that_share_a_target_folder_do_not_mix() {
    // Both are written before either is built: cargo would take the older source for built already.
    let (first, second) = (checkout("first"), checkout("second"));
    let target = tempfile::tempdir().unwrap();
    for wrapper in [None, Some("scripts/rustc-lint")] {
        let all = [&first, &second, &first].map(|one| says(one, wrapper, target.path()));
        assert_eq!(all, ["first", "second", "first"], "{wrapper:?}");
    }
}
