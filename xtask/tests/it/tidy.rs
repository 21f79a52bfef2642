//! `xtask tidy` against a small workspace that is spoilt in one place at a time.

use crate::fixture::Fixture;

const TYPES: &str = "crates/types/src/lib.rs";

#[test]
fn a_clean_workspace_passes_and_shows_its_longest_files() {
    let run = Fixture::clean().tidy();
    run.passes();
    assert!(run.text.contains("ten longest"), "{}", run.text);
    assert!(run.text.contains(TYPES), "{}", run.text);
}

#[test]
fn an_edge_that_is_not_listed_is_refused() {
    let fixture = Fixture::clean();
    fixture.append(
        "crates/catalog/Cargo.toml",
        "trunkline-db = { path = \"../db\" }\n",
    );
    let run = fixture.tidy();
    run.refuses(
        "crates/catalog/Cargo.toml:10:",
        "`catalog` must not use `db`",
    );
    run.refuses("crates/catalog/Cargo.toml:10:", "arrows point inward only");
}

#[test]
fn an_edge_for_tests_is_listed_apart() {
    let fixture = Fixture::clean();
    fixture.append(
        "crates/types/Cargo.toml",
        "[dev-dependencies]\ntrunkline-catalog = { path = \"../catalog\" }\n",
    );
    let run = fixture.tidy();
    run.refuses("crates/types/Cargo.toml:9:", "in [dev-dependencies]");
    run.counts(1);
}

#[test]
fn an_edge_under_another_name_or_for_one_target_is_seen() {
    let fixture = Fixture::clean();
    fixture.append(
        "crates/catalog/Cargo.toml",
        "[target.'cfg(unix)'.dependencies]\nhidden = { package = \"trunkline-db\", path = \"../db\" }\n",
    );
    fixture.tidy().refuses(
        "crates/catalog/Cargo.toml:11:",
        "`catalog` must not use `db`",
    );
}

#[test]
fn an_edge_that_points_outward_is_refused_even_when_it_is_listed() {
    let fixture = Fixture::clean();
    fixture.append(
        "crates/catalog/Cargo.toml",
        "trunkline-db = { path = \"../db\" }\n",
    );
    fixture.replace(
        "tidy.toml",
        "[crate.catalog]\nlayer = \"pure\"\nuses = [\"types\"]",
        "[crate.catalog]\nlayer = \"pure\"\nuses = [\"types\", \"db\"]",
    );
    let run = fixture.tidy();
    run.refuses("crates/catalog/Cargo.toml:10:", "arrows point inward only");
    run.counts(1);
}

#[test]
fn a_listed_edge_that_does_not_exist_is_stale() {
    let fixture = Fixture::clean();
    fixture.replace(
        "tidy.toml",
        "tests_use = [\"catalog\"]",
        "tests_use = [\"catalog\", \"types\"]",
    );
    let run = fixture.tidy();
    run.refuses(
        "tidy.toml:",
        "stale edge: `db` does not use `types` in [dev-dependencies]",
    );
    run.counts(1);
}

#[test]
fn an_engine_is_banned_from_the_pure_layer_in_any_table() {
    for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let fixture = Fixture::clean();
        let entry = format!("[{table}]\nengine = {{ package = \"tokio\", version = \"1\" }}\n");
        fixture.append("crates/types/Cargo.toml", &entry);
        let run = fixture.tidy();
        run.refuses("crates/types/Cargo.toml:9:", "`tokio` is banned");
        run.counts(1);
    }
}

/// A feature of `types` that `catalog` alone may turn on.
fn with_feature() -> Fixture {
    let fixture = Fixture::clean();
    fixture.append("crates/types/Cargo.toml", "[features]\nbroken = []\n");
    fixture.append(
        "tidy.toml",
        "[[feature]]\nname = \"broken\"\nof = \"types\"\nonly_by = [\"catalog\"]\nreason = \"for tests\"\n",
    );
    let plain = "trunkline-types = { path = \"../types\" }";
    let on = "trunkline-types = { path = \"../types\", features = [\"broken\"] }";
    fixture.replace("crates/catalog/Cargo.toml", plain, on);
    fixture.tidy().passes();
    fixture
}

#[test]
fn a_feature_for_tests_is_turned_on_by_the_crate_of_its_rule_alone() {
    let fixture = with_feature();
    let plain = "trunkline-types = { path = \"../types\" }";
    let on = "trunkline-types = { path = \"../types\", features = [\"broken\"] }";
    fixture.replace("crates/db/Cargo.toml", plain, on);
    let run = fixture.tidy();
    run.refuses(
        "crates/db/Cargo.toml:9:",
        "`db` must not turn on `broken` of `types`: for tests",
    );
    run.counts(1);
}

#[test]
fn a_feature_for_tests_is_no_default_and_no_other_feature_stands_for_it() {
    let fixture = with_feature();
    fixture.append("crates/types/Cargo.toml", "default = [\"broken\"]\n");
    let run = fixture.tidy();
    run.refuses("crates/types/Cargo.toml:", "must not stand for `broken`");
    run.counts(1);

    let fixture = with_feature();
    let features = "[features]\nall = [\"trunkline-types/broken\"]\n";
    fixture.append("crates/catalog/Cargo.toml", features);
    let run = fixture.tidy();
    run.refuses("crates/catalog/Cargo.toml:", "must not stand for `broken`");
    run.counts(1);
}

#[test]
fn every_crate_has_a_rule_and_every_rule_a_crate() {
    let fixture = Fixture::clean();
    fixture.add_crate("wire", "");
    fixture.append("tidy.toml", "[crate.video]\nlayer = \"pure\"\n");
    let run = fixture.tidy();
    run.refuses("crates/wire/Cargo.toml:1:", "`wire` has no rule");
    run.refuses("tidy.toml:", "there is no crate `video`");
    run.counts(2);
}

#[test]
fn a_package_is_named_after_the_product_and_its_folder() {
    let fixture = Fixture::clean();
    fixture.replace("crates/db/Cargo.toml", "\"trunkline-db\"", "\"db\"");
    fixture
        .tidy()
        .refuses("crates/db/Cargo.toml:1:", "package `db` in crates/db");

    let fixture = Fixture::clean();
    fixture.replace(
        "crates/db/Cargo.toml",
        "\"trunkline-db\"",
        "\"trunkline-base\"",
    );
    fixture.tidy().refuses(
        "crates/db/Cargo.toml:1:",
        "package `trunkline-base` in crates/db",
    );
}

#[test]
fn an_oversized_file_is_refused() {
    let fixture = Fixture::clean();
    fixture.write(TYPES, &format!("//! A module.\n{}", "//\n".repeat(499)));
    fixture.tidy().passes();
    fixture.append(TYPES, "//\n");
    let run = fixture.tidy();
    run.refuses("crates/types/src/lib.rs:501:", "501 lines, 500 allowed");
    run.counts(1);
}

#[test]
fn the_file_ratchet_holds_growth_and_goes_down_with_the_file() {
    let fixture = Fixture::clean();
    let lines = |count: usize| format!("//! A module.\n{}", "//\n".repeat(count - 1));
    let entry = format!("[[long_file]]\npath = \"{TYPES}\"\nmax = 600\nreason = \"a table\"\n");
    fixture.append("tidy.toml", &entry);
    fixture.write(TYPES, &lines(600));
    fixture.tidy().passes();
    fixture.write(TYPES, &lines(601));
    fixture
        .tidy()
        .refuses("crates/types/src/lib.rs:601:", "601 lines, 600 allowed");
    fixture.write(TYPES, &lines(560));
    fixture
        .tidy()
        .refuses("tidy.toml:", "lower the allowance from 600 to 560");
    fixture.write(TYPES, &lines(500));
    fixture
        .tidy()
        .refuses("tidy.toml:", "within the limit of 500; remove the entry");
}

#[test]
fn an_oversized_function_is_refused_and_a_test_is_not() {
    let fixture = Fixture::clean();
    let body = "    //\n".repeat(69);
    fixture.write(
        TYPES,
        &format!("//! A module.\n#[test]\nfn scenario() {{\n{body}}}\n"),
    );
    fixture.tidy().passes();
    fixture.write(TYPES, &format!("//! A module.\n\nfn long() {{\n{body}}}\n"));
    let run = fixture.tidy();
    run.refuses(
        "crates/types/src/lib.rs:3:",
        "`long` has 71 lines, 70 allowed",
    );
    run.counts(1);
}

#[test]
fn the_function_ratchet_goes_down_with_the_function() {
    let fixture = Fixture::clean();
    let function = |lines: usize| {
        let body = "    //\n".repeat(lines - 2);
        format!("//! A module.\nstruct Sum;\nimpl Sum {{\nfn long() {{\n{body}}}\n}}\n")
    };
    let entry = format!(
        "[[long_function]]\npath = \"{TYPES}\"\nname = \"Sum::long\"\nmax = 90\nreason = \"a table\"\n"
    );
    fixture.append("tidy.toml", &entry);
    fixture.write(TYPES, &function(90));
    fixture.tidy().passes();
    fixture.write(TYPES, &function(91));
    fixture
        .tidy()
        .refuses("crates/types/src/lib.rs:4:", "91 lines, 90 allowed");
    fixture.write(TYPES, &function(80));
    fixture
        .tidy()
        .refuses("tidy.toml:", "lower the allowance from 90 to 80");
    fixture.write(TYPES, &function(70));
    fixture.tidy().refuses("tidy.toml:", "remove the entry");
}

#[test]
fn a_file_without_module_doc_is_refused_in_tests_and_build_scripts_too() {
    let fixture = Fixture::clean();
    let bare = ["crates/types/build.rs", "crates/types/tests/it.rs", TYPES];
    for path in bare {
        fixture.write(path, "fn main() {}\n");
    }
    let run = fixture.tidy();
    for path in bare {
        run.refuses(&format!("{path}:1:"), "no module doc");
    }
    run.counts(3);
}

#[test]
fn a_public_trait_without_a_doc_comment_is_refused() {
    let fixture = Fixture::clean();
    fixture.write(TYPES, "//! A module.\n\npub trait Clock {}\n");
    let run = fixture.tidy();
    run.refuses(
        &format!("{TYPES}:3:"),
        "`pub trait Clock` has no doc comment",
    );
    run.counts(1);
}

#[test]
fn a_mod_rs_is_refused() {
    let fixture = Fixture::clean();
    fixture.write("crates/types/src/money/mod.rs", "//! A module.\n");
    let run = fixture.tidy();
    run.refuses(
        "crates/types/src/money/mod.rs:1:",
        "move it to crates/types/src/money.rs",
    );
    run.counts(1);
}

#[test]
fn a_path_of_one_machine_is_refused_in_any_text_file() {
    let fixture = Fixture::clean();
    let place = concat!("/wo", "rk/main");
    fixture.write("docs/notes.md", &format!("Notes.\n\nRun it in {place}.\n"));
    fixture.append(TYPES, &format!("const PLACE: &str = \"{place}\";\n"));
    let run = fixture.tidy();
    run.refuses("docs/notes.md:3:", "must not be committed: one machine");
    run.refuses("crates/types/src/lib.rs:2:", "must not be committed");
    run.counts(2);
}

#[test]
fn a_schema_is_named_only_in_its_crates() {
    let fixture = Fixture::clean();
    let query = "//! A module.\nconst QUERY: &str = \"SELECT 1 FROM ledger.hold\";\n";
    fixture.write("crates/db/tests/it.rs", query);
    fixture.write("migrations/1.sql", "CREATE TABLE ledger.hold ();\n");
    fixture.tidy().passes();
    fixture.write("crates/db/src/lib.rs", query);
    fixture.write(
        "crates/db/queries/1.sql",
        "-- why\nDELETE FROM ledger.hold;\n",
    );
    let run = fixture.tidy();
    run.refuses(
        "crates/db/src/lib.rs:2:",
        "`ledger.` may stand only in migrations/",
    );
    run.refuses("crates/db/queries/1.sql:2:", "one writer");
    run.counts(2);
}

#[test]
fn a_file_that_does_not_parse_is_a_finding_and_hides_no_other() {
    let fixture = Fixture::clean();
    fixture.write("crates/db/src/lib.rs", "//! A module.\nfn broken( {\n");
    fixture.write(TYPES, "fn main() {}\n");
    let run = fixture.tidy();
    run.refuses("crates/db/src/lib.rs:2:", "does not parse");
    run.refuses("crates/types/src/lib.rs:1:", "no module doc");
}

#[test]
fn a_policy_with_a_misspelt_key_or_an_empty_reason_is_refused() {
    let fixture = Fixture::clean();
    fixture.append("tidy.toml", "excuse = \"x\"\n");
    fixture.tidy().refuses("xtask: reading tidy.toml", "");

    let fixture = Fixture::clean();
    fixture.replace("tidy.toml", "reason = \"one writer\"", "reason = \"\"");
    fixture
        .tidy()
        .refuses("tidy.toml:", "`ledger.` has no reason");
}
