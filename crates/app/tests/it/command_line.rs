//! `trunkline` on the command line: help, configuration, keyring, migration.

use std::path::Path;
use std::process::{Command, Output};

use trunkline_db::Role;
use trunkline_testkit::Db;

/// What a configuration needs to be usable.
const DATABASE: &str = "[database]\nurl = \"postgres://a@b/c\"\n";

/// Runs `trunkline` in a directory with nothing in its environment but what is given.
fn trunkline(directory: &Path, words: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trunkline"))
        .args(words)
        .current_dir(directory)
        .env_clear()
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn read(file: &Path) -> String {
    String::from_utf8(std::fs::read(file).unwrap()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn the_providers_are_listed_without_a_database_and_a_file_adds_one() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["channel", "providers", "--json"];
    let list = |folder: &str| {
        let answer = trunkline(
            directory.path(),
            &words,
            &[("TRUNKLINE__PROVIDERS__FOLDER", folder)],
        );
        json(&answer)["providers"].as_array().unwrap().clone()
    };
    let built_in = trunkline(directory.path(), &words, &[]);
    let built_in = json(&built_in)["providers"].as_array().unwrap().clone();
    let openai = built_in.iter().find(|one| one["name"] == "openai").unwrap();
    assert_eq!(openai["base_url"], "https://api.openai.com/v1");
    assert_eq!(openai["auth"], "bearer");
    let served = openai["endpoint_types"].as_array().unwrap();
    assert!(served.contains(&"anthropic".into()) && !served.contains(&"gemini".into()));
    let file = "name = \"mine\"\nbase_url = \"\"\nauth = \"header:x-key\"\nformats = [\"gemini\"]\n\
                quirks = []\nconnect_ms = 1\nfirst_byte_ms = 1\nidle_ms = 1\ntotal_ms = 1\n";
    std::fs::write(directory.path().join("mine.toml"), file).unwrap();
    let more = list(directory.path().to_str().unwrap());
    assert_eq!(more.len(), built_in.len() + 1);
    let mine = more.iter().find(|one| one["name"] == "mine").unwrap();
    assert_eq!(mine["auth"], "header:x-key");
    assert_eq!(mine["base_url"], serde_json::Value::Null);
    let table = trunkline(directory.path(), &["channel", "providers"], &[]);
    assert!(stdout(&table).contains("openai_compatible"), "{table:?}");
}

#[test]
fn an_operator_reads_how_each_provider_was_proved_in_the_list_and_in_its_own_page() {
    const PROOFS: [&str; 3] = ["live", "sdk", "documented"];
    let directory = tempfile::tempdir().unwrap();
    let file = "name = \"mine\"\nbase_url = \"\"\nauth = \"bearer\"\nformats = [\"gemini\"]\n\
                quirks = []\nconnect_ms = 1\nfirst_byte_ms = 1\nidle_ms = 1\ntotal_ms = 1\n";
    std::fs::write(directory.path().join("mine.toml"), file).unwrap();
    let folder = directory.path().to_str().unwrap();
    let run = |words: &[&str]| {
        trunkline(
            directory.path(),
            words,
            &[("TRUNKLINE__PROVIDERS__FOLDER", folder)],
        )
    };
    let list = json(&run(&["provider", "list", "--json"]));
    let list = list["providers"].as_array().unwrap();
    let vendors = list.iter().filter(|one| {
        let name = one["name"].as_str().unwrap();
        !name.starts_with("simulator") && !["openai_compatible", "mine"].contains(&name)
    });
    let proofs: Vec<&str> = vendors.map(|one| one["proof"].as_str().unwrap()).collect();
    assert!(proofs.len() >= 45, "{}", proofs.len());
    assert!(proofs.iter().all(|proof| PROOFS.contains(proof)));
    for (name, proof) in [
        ("anthropic", "sdk"),
        ("deepinfra", "documented"),
        ("mine", "(not stated)"),
    ] {
        let table = stdout(&run(&["provider", "list"]));
        let start = format!("{name} ");
        let row = table.lines().find_map(|row| row.strip_prefix(&start));
        let row = row.unwrap_or_else(|| panic!("{name}: {table}"));
        assert!(row.trim_start().starts_with(proof), "{row}");
        let page = stdout(&run(&["provider", "show", name]));
        assert!(page.contains(&format!("\nproof     {proof}\n")), "{page}");
    }
    let view = json(&run(&["provider", "show", "xai", "--json"]));
    assert_eq!(view["provider"]["base_url"], "https://api.x.ai/v1");
    let absent = run(&["provider", "show", "absent"]);
    assert!(!absent.status.success());
    let reason = String::from_utf8(absent.stderr).unwrap();
    assert!(reason.contains("trunkline provider list"), "{reason}");
}

// covers: D-1-03
#[test]
fn every_package_of_the_workspace_is_named_after_the_product() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manifest = |folder: &Path| -> toml::Table {
        let text = std::fs::read(folder.join("Cargo.toml")).unwrap();
        String::from_utf8(text).unwrap().parse().unwrap()
    };
    // The workspace itself says what its packages are: one that is put elsewhere is seen too.
    let members = manifest(&root)["workspace"]["members"].clone();
    assert_eq!(members, toml::Value::from(vec!["crates/*", "xtask"]));
    let mut count = 0;
    for folder in std::fs::read_dir(root.join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        let noun = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let package = &manifest(&folder)["package"];
        assert_eq!(
            package["name"].as_str(),
            Some(format!("trunkline-{noun}").as_str())
        );
        count += 1;
    }
    assert!(count > 20, "{count}");
    // It is run as `cargo run -p xtask` and never published or shipped.
    assert_eq!(
        manifest(&root.join("xtask"))["package"]["name"].as_str(),
        Some("xtask")
    );
    let pages = std::fs::read(root.join("web/package.json")).unwrap();
    let pages: serde_json::Value = serde_json::from_slice(&pages).unwrap();
    assert!(
        pages["name"].as_str().unwrap().starts_with("trunkline-"),
        "{pages}"
    );
}

// covers: D-1-01, D-1-02
#[test]
fn the_executable_is_trunkline_and_its_help_has_examples() {
    let directory = tempfile::tempdir().unwrap();
    let version = trunkline(directory.path(), &["--version"], &[]);
    assert!(stdout(&version).starts_with("trunkline "), "{version:?}");
    let commands: [&[&str]; 40] = [
        &["init", "--help"],
        &["--help"],
        &["account", "create", "--help"],
        &["account", "show", "--help"],
        &["account", "statement", "--help"],
        &["topup", "--help"],
        &["key", "create", "--help"],
        &["key", "revoke", "--help"],
        &["key", "list", "--help"],
        &["budget", "set", "--help"],
        &["channel", "add", "--help"],
        &["channel", "list", "--help"],
        &["channel", "test", "--help"],
        &["channel", "drain", "--help"],
        &["channel", "providers", "--help"],
        &["provider", "list", "--help"],
        &["provider", "show", "--help"],
        &["workflow", "validate", "--help"],
        &["workflow", "import", "--help"],
        &["workflow", "list", "--help"],
        &["catalog", "import", "--help"],
        &["catalog", "export", "--help"],
        &["catalog", "diff", "--help"],
        &["catalog", "set-price", "--help"],
        &["catalog", "history", "--help"],
        &["catalog", "lint", "--help"],
        &["catalog", "stale", "--help"],
        &["catalog", "sync", "--help"],
        &["import", "litellm", "--help"],
        &["import", "new-api", "--help"],
        &["audit", "--help"],
        &["statement", "--help"],
        &["verify", "--help"],
        &["migrate", "--help"],
        &["restore", "check", "--help"],
        &["config", "check", "--help"],
        &["config", "explain", "--help"],
        &["keyring", "generate", "--help"],
        &["keyring", "rotate", "--help"],
        &["keyring", "show", "--help"],
    ];
    for words in commands {
        let help = stdout(&trunkline(directory.path(), words, &[]));
        assert!(
            help.contains("Example") && help.contains("trunkline ") && help.contains("--json"),
            "{help}"
        );
    }
    let wrong = trunkline(directory.path(), &["fly"], &[]);
    assert_eq!(wrong.status.code(), Some(2));
}

// covers: D-1-04, D-1-06
#[test]
fn configuration_is_read_from_trunkline_toml_and_explained() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("trunkline.toml"),
        format!("[edge]\nlisten = \"127.0.0.1:7070\"\n{DATABASE}"),
    )
    .unwrap();
    let good = trunkline(directory.path(), &["config", "check"], &[]);
    assert!(
        good.status.success() && stdout(&good).contains("127.0.0.1:7070"),
        "{good:?}"
    );
    let as_json = json(&trunkline(
        directory.path(),
        &["config", "check", "--json"],
        &[],
    ));
    assert_eq!(
        (as_json["ok"].as_bool(), as_json["edge_listen"].as_str()),
        (Some(true), Some("127.0.0.1:7070"))
    );

    let bad = trunkline(
        directory.path(),
        &["config", "check"],
        &[("TRUNKLINE__EDGE__LISTEN", "nowhere")],
    );
    assert_eq!(bad.status.code(), Some(1));
    assert!(
        stderr(&bad).contains("edge.listen (from TRUNKLINE__EDGE__LISTEN)"),
        "{bad:?}"
    );
    let bad = trunkline(
        directory.path(),
        &["--json", "config", "check"],
        &[("TRUNKLINE__EDGE__LISTEN", "nowhere")],
    );
    assert_eq!(bad.status.code(), Some(1));
    assert_eq!(json(&bad)["findings"][0]["key"], "edge.listen");

    let named = trunkline(
        directory.path(),
        &["--config", "other.toml", "config", "check"],
        &[],
    );
    assert!(!named.status.success() && stderr(&named).contains("other.toml"));
}

#[test]
fn the_default_configuration_is_usable_as_soon_as_a_database_is_set() {
    let directory = tempfile::tempdir().unwrap();
    let default = trunkline(directory.path(), &["config", "default"], &[]);
    std::fs::write(directory.path().join("trunkline.toml"), stdout(&default)).unwrap();
    let check = |words: &[&str], environment: &[(&str, &str)]| {
        trunkline(directory.path(), words, environment)
    };
    let without = check(&["config", "check"], &[]);
    assert_eq!(without.status.code(), Some(1));
    assert_eq!(stdout(&without), "");
    assert!(
        stderr(&without).contains("\n  database.url (from defaults): is not set: "),
        "{without:?}"
    );
    let findings = json(&check(&["config", "check", "--json"], &[]))["findings"].clone();
    assert_eq!(findings.as_array().unwrap().len(), 1);
    assert_eq!(findings[0]["key"], "database.url");
    let database = [("TRUNKLINE__DATABASE__URL", "postgres://a@b/c")];
    let with = check(&["config", "check"], &database);
    assert!(
        with.status.success() && stdout(&with).starts_with("The configuration is usable.\n"),
        "{with:?}"
    );
}

#[test]
fn an_operator_has_a_key_explained_with_its_value_and_where_it_was_set() {
    let directory = tempfile::tempdir().unwrap();
    let file = "[edge]\ndrain_seconds = 33\n[database]\nurl = \"postgres://a:canary@b/c\"\n";
    std::fs::write(directory.path().join("trunkline.toml"), file).unwrap();
    let variable = [("TRUNKLINE__EDGE__NOTICE_SECONDS", "44")];
    let explain = |key: &str| {
        let words = ["config", "explain", key, "--json"];
        json(&trunkline(directory.path(), &words, &variable))
    };
    let of_file = explain("edge.drain_seconds");
    assert_eq!(
        (&of_file["value"], &of_file["default"], &of_file["unit"]),
        (&33.into(), &120.into(), &"seconds".into())
    );
    assert_eq!(of_file["from"], "trunkline.toml");
    assert_eq!(of_file["variable"], "TRUNKLINE__EDGE__DRAIN_SECONDS");
    let of_variable = explain("edge.notice_seconds");
    assert_eq!(of_variable["value"], 44);
    assert_eq!(of_variable["from"], "TRUNKLINE__EDGE__NOTICE_SECONDS");
    let of_default = explain("edge.memory_mb");
    assert_eq!(
        (&of_default["from"], &of_default["value"]),
        (&"defaults".into(), &2000.into())
    );

    let secret = trunkline(
        directory.path(),
        &["config", "explain", "database.url"],
        &[],
    );
    let text = stdout(&secret);
    assert!(
        !text.contains("canary") && text.contains("(set; a secret is not printed)"),
        "{text}"
    );
    assert!(
        text.starts_with("database.url\n\nPostgreSQL, such as"),
        "{text}"
    );
    let secret = explain("database.url");
    assert!(!secret.to_string().contains("canary"), "{secret}");
    assert_eq!(
        (&secret["secret"], &secret["set"]),
        (&true.into(), &true.into())
    );

    let unknown = trunkline(directory.path(), &["config", "explain", "edge.drain"], &[]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        stderr(&unknown).contains("edge.drain: unknown key; [edge] has"),
        "{unknown:?}"
    );
}

#[test]
fn the_version_says_what_was_built() {
    let directory = tempfile::tempdir().unwrap();
    let version = stdout(&trunkline(directory.path(), &["--version"], &[]));
    let number = env!("CARGO_PKG_VERSION");
    let build = version
        .trim_end()
        .strip_prefix(&format!("trunkline {number} ("))
        .and_then(|rest| rest.strip_suffix(')'));
    let build = build.unwrap_or_else(|| panic!("{version}"));
    assert!(
        build == "debug build" || build.starts_with("commit "),
        "{version}"
    );
}

#[test]
fn a_keyring_is_made_rotated_and_shown_without_printing_keys() {
    let directory = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| trunkline(directory.path(), words, &[]);
    let none = run(&["keyring", "show"]);
    assert!(
        !none.status.success() && stderr(&none).contains("keyring generate"),
        "{none:?}"
    );
    let made = run(&["keyring", "generate", "--json"]);
    assert_eq!(json(&made)["generations"][0]["id"], 1);
    let file = directory.path().join("trunkline.keyring.toml");
    let first = read(&file);
    assert!(
        !run(&["keyring", "generate"]).status.success(),
        "a keyring is never overwritten"
    );
    assert_eq!(read(&file), first);

    let rotated = run(&["keyring", "rotate"]);
    assert!(
        stdout(&rotated).contains("Generation 2 seals from now on; generation 1 is still readable"),
        "{rotated:?}"
    );
    let second = run(&["keyring", "rotate"]);
    assert!(
        !second.status.success() && stderr(&second).contains("--drop-previous"),
        "{second:?}"
    );
    let dropped = json(&run(&["keyring", "rotate", "--drop-previous", "--json"]));
    assert_eq!(dropped["retired"], 1);
    assert!(dropped["keyring_text"].is_null());
    let view = json(&run(&["keyring", "show", "--json"]));
    let ids: Vec<_> = view["generations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_u64())
        .collect();
    assert_eq!(ids, [Some(3), Some(2)]);

    let keys = read(&file);
    let secrets: Vec<&str> = keys
        .lines()
        .filter_map(|line| line.strip_prefix("key = "))
        .map(|quoted| quoted.trim_matches('"'))
        .collect();
    assert_eq!(secrets.len(), 2, "two live keys in {keys}");
    let printed = format!(
        "{rotated:?}{second:?}{}",
        stdout(&run(&["keyring", "show"]))
    );
    assert!(secrets.iter().all(|secret| !printed.contains(secret)));
}

#[test]
fn a_keyring_may_be_a_text_in_the_environment() {
    let directory = tempfile::tempdir().unwrap();
    assert!(
        trunkline(directory.path(), &["keyring", "generate"], &[])
            .status
            .success()
    );
    let text = read(&directory.path().join("trunkline.keyring.toml"));
    let environment = [("TRUNKLINE__KEYRING__TEXT", text.as_str())];
    let elsewhere = tempfile::tempdir().unwrap();
    let rotated = json(&trunkline(
        elsewhere.path(),
        &["keyring", "rotate", "--json"],
        &environment,
    ));
    let line = rotated["keyring_text"].as_str().unwrap();
    let view = trunkline(
        elsewhere.path(),
        &["keyring", "show", "--json"],
        &[("TRUNKLINE__KEYRING__TEXT", line)],
    );
    assert_eq!(json(&view)["generations"][0]["id"], 2);
    assert!(
        !trunkline(elsewhere.path(), &["keyring", "generate"], &environment)
            .status
            .success()
    );
}

#[tokio::test]
async fn migrate_brings_an_empty_database_up_to_date_and_may_be_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let missing = trunkline(directory.path(), &["migrate"], &[]);
    assert!(
        !missing.status.success() && stderr(&missing).contains("TRUNKLINE__DATABASE__URL"),
        "{missing:?}"
    );

    let empty = Db::empty().await;
    let url = empty.migrator_url();
    let environment = [("TRUNKLINE__DATABASE__URL", url.reveal())];
    let first = json(&trunkline(
        directory.path(),
        &["migrate", "--json"],
        &environment,
    ));
    assert!(first["applied"].as_array().unwrap().len() >= 3, "{first}");
    let second = trunkline(directory.path(), &["migrate"], &environment);
    assert!(stdout(&second).contains("up to date"), "{second:?}");
    let auditor = empty.connect(Role::Audit).await;
    let mut session = auditor.session().await.unwrap();
    let missing = trunkline_db::missing_migrations(&mut session).await;
    assert_eq!(missing, Ok(Vec::new()), "the roles are there and may look");
}

#[test]
fn a_database_that_is_away_is_said_to_be_away_without_its_password() {
    let directory = tempfile::tempdir().unwrap();
    let url = "postgres://user:hunter2canary@127.0.0.1:1/none";
    let away = trunkline(
        directory.path(),
        &["migrate"],
        &[("TRUNKLINE__DATABASE__URL", url)],
    );
    assert_eq!(away.status.code(), Some(1));
    let reply = format!("{}{}", stdout(&away), stderr(&away));
    assert!(
        !reply.contains("hunter2canary") && reply.len() > 20,
        "{reply}"
    );
}
