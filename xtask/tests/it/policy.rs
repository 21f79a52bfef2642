//! The policy of this very repository against doctored copies of its manifests.
//!
//! Only the mistake is checked: other crates may be under change and have findings of their own.

use std::fs;
use std::process::Command;

use crate::fixture::{Fixture, Run, repository, repository_file};

/// The real manifests and the real policy, with empty crates.
fn copied_workspace() -> Fixture {
    let fixture = Fixture::empty();
    fixture.write("Cargo.toml", &repository_file("Cargo.toml"));
    fixture.write("tidy.toml", &repository_file("tidy.toml"));
    let crates = fs::read_dir(repository().join("crates")).unwrap();
    let mut folders: Vec<_> = crates
        .map(|entry| format!("crates/{}", entry.unwrap().file_name().to_str().unwrap()))
        .filter(|folder| repository().join(folder).join("Cargo.toml").is_file())
        .collect();
    folders.push("xtask".to_owned());
    for folder in folders {
        let manifest = format!("{folder}/Cargo.toml");
        fixture.write(&manifest, &repository_file(&manifest));
        fixture.write(&format!("{folder}/src/lib.rs"), "//! A module.\n");
        fixture.write(
            &format!("{folder}/src/main.rs"),
            "//! A module.\nfn main() {}\n",
        );
    }
    fixture
}

fn with_dependency(manifest: &str, entry: &str) -> Fixture {
    let fixture = copied_workspace();
    let tables = format!("[dependencies]\n{entry}\n");
    fixture.replace(manifest, "[dependencies]\n", &tables);
    fixture
}

#[test]
fn a_pure_crate_cannot_use_the_database() {
    let manifest = "crates/catalog/Cargo.toml";
    let run = with_dependency(manifest, "trunkline-db.workspace = true").tidy();
    run.refuses(manifest, "`catalog` must not use `db`");
    run.refuses(manifest, "arrows point inward only");
}

#[test]
fn a_pure_crate_cannot_use_an_engine() {
    let manifest = "crates/types/Cargo.toml";
    for engine in [
        "tokio",
        "sqlx",
        "reqwest",
        "hyper",
        "axum",
        "redis",
        "async-nats",
        "object_store",
    ] {
        let run = with_dependency(manifest, &format!("{engine} = \"1\"")).tidy();
        run.refuses(manifest, &format!("`{engine}` is banned"));
    }
}

#[test]
fn product_code_cannot_use_the_testkit() {
    let fixture = copied_workspace();
    let manifest = "crates/keyring/Cargo.toml";
    fixture.replace(
        manifest,
        "[dependencies]\n",
        "[dependencies]\ntrunkline-testkit.workspace = true\n",
    );
    let run = fixture.tidy();
    run.refuses(manifest, "`keyring` must not use `testkit`");
    run.refuses(manifest, "arrows point inward only");
}

#[test]
fn no_crate_but_the_testkit_turns_on_the_defects() {
    for manifest in ["crates/app/Cargo.toml", "crates/ledger/Cargo.toml"] {
        let fixture = copied_workspace();
        fixture.replace(
            manifest,
            "trunkline-types.workspace = true",
            "trunkline-types = { workspace = true, features = [\"defects\"] }",
        );
        fixture
            .tidy()
            .refuses(manifest, "must not turn on `defects` of `types`");
    }
}

/// Which features a package is built with, as cargo itself says.
fn features_of_terms_in(package: &str) -> String {
    let mut command = Command::new("cargo");
    command
        .args(["tree", "--locked", "--offline", "--color", "never"])
        .args(["--edges", "no-dev,features", "--package", package])
        .args(["--invert", "trunkline-types"])
        .current_dir(repository());
    let run = Run::of(command);
    run.passes();
    run.text
}

#[test]
fn the_shipped_package_is_built_without_the_defects() {
    let defects = "trunkline-types feature \"defects\"";
    let shipped = features_of_terms_in("trunkline-app");
    assert!(!shipped.contains(defects), "{shipped}");
    let testkit = features_of_terms_in("trunkline-testkit");
    assert!(testkit.contains(defects), "{testkit}");
}

#[test]
fn paths_of_a_machine_are_known_to_the_policy() {
    let places = [
        concat!("/wo", "rk/main"),
        concat!("/ro", "ot/.cargo"),
        concat!("/ho", "me/ann/src"),
    ];
    for place in places {
        let fixture = copied_workspace();
        fixture.write("docs/notes.md", &format!("See {place} there.\n"));
        fixture
            .tidy()
            .refuses("docs/notes.md:1:", "a path of one machine");
    }
}

#[test]
fn the_money_schema_is_known_to_the_policy() {
    let fixture = copied_workspace();
    let query = "//! A module.\nconst QUERY: &str = \"SELECT 1 FROM ledger.hold\";\n";
    fixture.write("crates/app/src/spy.rs", query);
    fixture.write("crates/app/tests/it/spy.rs", query);
    let run = fixture.tidy();
    run.refuses(
        "crates/app/src/spy.rs:2:",
        "`ledger.` may stand only in crates/ledger/",
    );
    assert!(!run.text.contains("tests/it/spy.rs:"), "{}", run.text);
}
