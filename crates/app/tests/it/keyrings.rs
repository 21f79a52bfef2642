//! Rotations of the keyring beside a database: nothing is lost, and a node that was forgotten says so.

use std::fmt::Write as _;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::process::Command;
use trunkline_db::{Database, Role};
use trunkline_keyring::{Binding, FileSource, Keyring, Purpose, SystemRandom};
use trunkline_ledger::sealed_responses as responses;
use trunkline_store::sealed::{self, SealedColumn};
use trunkline_store::{emails, people};
use uuid::Uuid;

use crate::admin_cli::AdminCli;
use crate::alarms::{ENCODED, Receiver};
use crate::dev::Dev;
use crate::sdk::customer::{Sent, send_bytes};

const EMAILS: usize = 300;
pub(crate) const FILE: &str = "trunkline.keyring.toml";

/// An installation with sealed rows of several tables.
async fn cli() -> AdminCli {
    let cli = AdminCli::new().await;
    cli.json(&["keyring", "generate"]);
    cli.write("key", "sk-canary-0123456789-tail");
    cli.write("proxy", "http://user:password@127.0.0.1:9");
    cli.json(&[
        "channel",
        "add",
        "--name",
        "one",
        "--provider",
        "simulator",
        "--base-url",
        "http://127.0.0.1:9",
        "--key-file",
        "key",
        "--model",
        "m",
        "--proxy-file",
        "proxy",
    ]);
    cli
}

fn keyring(cli: &AdminCli) -> Keyring {
    let source = FileSource::new(cli.path(FILE));
    Keyring::load(&source, Arc::new(SystemRandom)).unwrap()
}

fn hex(bytes: Vec<u8>) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// A statement that writes so many sealed emails.
pub(crate) fn sealed_emails(keyring: &Keyring, count: usize) -> String {
    let rows = (1..=count).map(|number| {
        let id = Uuid::from_u128(u128::try_from(number).unwrap());
        let context = emails::context(id);
        let binding = Binding::of_operator(&context);
        let sealed = hex(keyring.seal(Purpose::Emails, &binding, b"secret").unwrap());
        format!("('{id}', 'verify', 'a@b.c', '\\x{sealed}', 'kept', now() + interval '9 days')")
    });
    let rows: Vec<String> = rows.collect();
    format!(
        "INSERT INTO app.email (id, kind, to_address, sealed, state, expires_at) VALUES {};",
        rows.join(", ")
    )
}

/// Rows enough that a command can be killed among them, and one of each other kind.
fn fill(cli: &AdminCli) {
    let keyring = keyring(cli);
    let mut statement = sealed_emails(&keyring, EMAILS);
    let account = cli.account("Ada");
    let id = Uuid::from_u128(7);
    let of = |context: &[u8], purpose| {
        let binding = Binding::of_account(trunkline_types::AccountId::new(account), context);
        hex(keyring.seal(purpose, &binding, b"secret").unwrap())
    };
    let answer = of(id.as_bytes(), Purpose::IdempotentAnswers);
    let url = of(
        format!("webhook.url/{}", id.simple()).as_bytes(),
        Purpose::Webhooks,
    );
    let secret = of(
        format!("webhook.secret/{}", id.simple()).as_bytes(),
        Purpose::Webhooks,
    );
    let task = of(
        format!("task_webhook.url/{}", id.simple()).as_bytes(),
        Purpose::Webhooks,
    );
    let context = people::secret_context(people::PersonId::new(1));
    let factor = hex(keyring
        .seal(
            Purpose::Credentials,
            &Binding::of_operator(&context),
            b"secret",
        )
        .unwrap());
    write!(
        statement,
        "INSERT INTO app.person (id, email, name) OVERRIDING SYSTEM VALUE VALUES (1, 'a@b.c', 'Ada');
         INSERT INTO app.second_factor (person_id, secret, confirmed_at) VALUES (1, '\\x{factor}', now());
         INSERT INTO ledger.idempotency (account_id, key, body_hash, request_id, state, response)
         VALUES ({account}, 'a/b', decode(repeat('00', 32), 'hex'), '{id}', 'finished', '\\x{answer}');
         INSERT INTO app.webhook (id, account_id, kind, url, secret, old_secret, old_secret_until)
         VALUES ('{id}', {account}, 'endpoint', '\\x{url}', '\\x{secret}', '\\x{secret}', now());
         INSERT INTO app.task_webhook (task_id, account_id, url) VALUES ('{id}', {account}, '\\x{task}');"
    )
    .unwrap();
    cli.as_superuser(&statement);
}

async fn readable(cli: &AdminCli) -> (usize, usize) {
    let data = cli.db.connect(Role::Data).await;
    let console = cli.db.connect(Role::Console).await;
    readable_in(&data, &console, &keyring(cli)).await
}

/// How many values there are, and how many of them the keyring opens.
pub(crate) async fn readable_in(
    data: &Database,
    console: &Database,
    keyring: &Keyring,
) -> (usize, usize) {
    let (mut all, mut opened) = (0, 0);
    for column in SealedColumn::ALL {
        let mut session = match column.role() {
            Role::Console => console.session().await.unwrap(),
            Role::Owner | Role::Data | Role::Audit => data.session().await.unwrap(),
        };
        let rows = sealed::unsealed_by(&mut session, column, &[0, 0, 0])
            .await
            .unwrap();
        let purpose = match column {
            SealedColumn::Credential
            | SealedColumn::Proxy
            | SealedColumn::SecondFactor
            | SealedColumn::MediaKey => Purpose::Credentials,
            SealedColumn::TaskRequest | SealedColumn::TaskFile => Purpose::Tasks,
            SealedColumn::Email => Purpose::Emails,
            SealedColumn::WebhookUrl
            | SealedColumn::WebhookSecret
            | SealedColumn::WebhookOldSecret
            | SealedColumn::TaskWebhookUrl => Purpose::Webhooks,
        };
        for value in sealed::read(&mut session, column, &rows).await.unwrap() {
            let binding = Binding {
                account: value.account,
                context: &value.context,
            };
            all += 1;
            opened += usize::from(keyring.open(purpose, &binding, &value.sealed).is_ok());
        }
    }
    let mut session = data.session().await.unwrap();
    let header = [0, 0, 0];
    let rows = responses::sealed_by_others(&mut session, &header)
        .await
        .unwrap();
    for response in responses::read(&mut session, &rows).await.unwrap() {
        let binding = Binding::of_account(response.account, response.request.as_bytes());
        let purpose = Purpose::IdempotentAnswers;
        all += 1;
        opened += usize::from(keyring.open(purpose, &binding, &response.sealed).is_ok());
    }
    (all, opened)
}

/// A command under a login that has both roles which write sealed values.
fn on_both(cli: &AdminCli, words: &[&str]) -> std::process::Command {
    let mut command = cli.command(Role::Data, words);
    let console = cli.db.url(Role::Console);
    command.env("TRUNKLINE__CONSOLE__DATABASE_URL", console.reveal());
    command
}

fn done(cli: &AdminCli, words: &[&str]) -> (bool, String) {
    let output = on_both(cli, words).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

/// A node with a keyring file of its own.
pub(crate) fn serve(cli: &AdminCli, file: &str) -> std::process::Command {
    let mut command = on_both(cli, &["serve", "--json"]);
    command.env("TRUNKLINE__KEYRING__FILE", file);
    for listener in ["EDGE", "CONSOLE", "ADMIN"] {
        command.env(format!("TRUNKLINE__{listener}__LISTEN"), "127.0.0.1:0");
    }
    command
}

async fn admin(node: &Dev, path: &str) -> Sent {
    let url = format!("http://{}{path}", node.text("admin"));
    send_bytes("GET", &url, &[], b"").await
}

/// Waits until a node's readiness is this one, and gives back what it says.
async fn becomes(node: &Dev, status: u16) -> String {
    let began = Instant::now();
    loop {
        let got = admin(node, "/readyz").await;
        if got.status == status {
            return got.text();
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{}", got.text());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_rotates_the_keyring_five_times_and_nothing_is_lost_though_reseals_are_killed()
{
    let cli = cli().await;
    fill(&cli);
    let (all, opened) = readable(&cli).await;
    assert_eq!(
        (all, opened),
        (308, 308),
        "2 of a channel, 300 emails, 3 and 1 of webhooks, 1 answer, 1 second factor"
    );
    for round in 0..5_u64 {
        let (rotated, output) = done(&cli, &["keyring", "rotate"]);
        assert!(rotated, "{output}");
        // Before anything is sealed anew, the next rotation would lose it.
        let (second, output) = done(&cli, &["keyring", "rotate"]);
        assert!(
            !second && output.contains("308 values") && output.contains("keyring reseal"),
            "{output}"
        );
        let mut killed = on_both(&cli, &["keyring", "reseal"])
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Others write sealed values meanwhile.
        let words = ["channel", "key", "replace", "one", "--key-file", "main=key"];
        let mut writer = cli
            .command(Role::Console, &words)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(60 + 40 * round));
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert!(
            writer.wait().unwrap().success(),
            "a writer in round {round}"
        );
        assert_eq!(readable(&cli).await, (308, 308), "killed in round {round}");
        let (resealed, output) = done(&cli, &["keyring", "reseal"]);
        assert!(
            resealed && output.contains("Everything is sealed by generation"),
            "{output}"
        );
        assert_eq!(readable(&cli).await, (308, 308), "round {round}");
    }
    let view = cli.json(&["keyring", "show"]);
    assert_eq!(view["generations"][0]["id"], 6);
    let (lost, output) = done(&cli, &["keyring", "rotate"]);
    assert!(lost, "{output}");
    let (lost, output) = done(&cli, &["keyring", "rotate", "--drop-previous"]);
    assert!(lost, "{output}");
    let (resealed, output) = done(&cli, &["keyring", "reseal", "--json"]);
    let found: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(
        (resealed, &found["unopened"]),
        (false, &Value::from(308)),
        "{output}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_reads_a_rotated_keyring_anew_and_one_with_an_older_file_is_not_ready_and_does_not_start()
 {
    let cli = cli().await;
    let old = std::fs::read(cli.path(FILE)).unwrap();
    FileSource::new(cli.path("old.toml"))
        .create(&trunkline_keyring::Document::parse(&old).unwrap())
        .unwrap();
    let follows = Dev::started(Command::from(serve(&cli, FILE))).await;
    let receiver = Receiver::start().await;
    let mut command = serve(&cli, "old.toml");
    command
        .env("TRUNKLINE__ALARMS__WEBHOOK_URL", receiver.url)
        .env("TRUNKLINE__ALARMS__WEBHOOK_SECRET", ENCODED)
        .env("TRUNKLINE__ALARMS__WAIT_SECONDS", "1");
    let forgotten = Dev::started(Command::from(command)).await;
    becomes(&follows, 200).await;
    becomes(&forgotten, 200).await;
    let (rotated, output) = done(&cli, &["keyring", "rotate"]);
    assert!(rotated, "{output}");
    let why = becomes(&forgotten, 503).await;
    assert!(why.contains("keyring of this node is older"), "{why}");
    let numbers = admin(&forgotten, "/metrics").await.text();
    assert!(numbers.contains("trunkline_keyring_lags 1"), "{numbers}");
    receiver.reported("alarm.firing", "keyring_lags").await;
    let (resealed, output) = done(&cli, &["keyring", "reseal"]);
    assert!(resealed, "{output}");
    becomes(&follows, 200).await;
    let numbers = admin(&follows, "/metrics").await.text();
    assert!(
        numbers.contains("trunkline_keyring_generation 2"),
        "{numbers}"
    );
    assert!(
        !numbers.contains("trunkline_credentials_unopened{"),
        "{numbers}"
    );
    let numbers = admin(&forgotten, "/metrics").await.text();
    assert!(
        numbers.contains("trunkline_credentials_unopened{channel=\"one\"}"),
        "{numbers}"
    );

    let ended = serve(&cli, "old.toml").output().unwrap();
    let output = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
    assert!(!ended.status.success(), "{output}");
    let words = "generation 1, and generation 2 is in use";
    assert!(
        output.contains("does not start") && output.contains(words),
        "{output}"
    );
    // Given the new file, it is ready without a restart.
    std::fs::copy(cli.path(FILE), cli.path("old.toml")).unwrap();
    becomes(&forgotten, 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_who_restored_a_database_learns_whether_the_keyring_is_the_right_one_and_what_was_lost()
 {
    let cli = cli().await;
    let account = cli.account("Ada");
    cli.json(&["topup", &account.to_string(), "5"]);
    let (key, _) = cli.key(account, &[]);
    let check = || cli.run_as(Role::Audit, &["restore", "check", "--json"]);
    let empty = check().json();
    assert_eq!(empty["newest_settlement"], Value::Null, "{empty}");
    let cost = trunkline_types::Money::from_nanos(1_000_000);
    cli.call(account, key, cost, false).await;
    let whole = check();
    assert_eq!(whole.code, Some(0), "{whole:?}");
    let found = whole.json();
    assert_eq!(
        (&found["ok"], &found["keyring"]["unopened"]),
        (&true.into(), &0.into())
    );
    let age = found["newest_settlement_age_seconds"].as_i64().unwrap();
    assert!((0..600).contains(&age), "{found}");
    assert_eq!(found["holds_pending"]["calls"], 0);

    // Without a keyring, with another one, and with the right one again.
    std::fs::rename(cli.path(FILE), cli.path("kept.toml")).unwrap();
    let lost = cli.run_as(Role::Audit, &["restore", "check"]);
    assert_eq!(lost.code, Some(1), "{lost:?}");
    assert!(
        lost.out.contains("LOST   keyring") && lost.out.contains("2 sealed values"),
        "{lost:?}"
    );
    assert!(
        lost.out.contains("ok     audit"),
        "the books can be read: {lost:?}"
    );
    cli.json(&["keyring", "generate"]);
    let other = cli.run_as(Role::Audit, &["restore", "check"]);
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(
        other.out.contains("it opens none of 2 sealed values"),
        "{other:?}"
    );
    std::fs::rename(cli.path("kept.toml"), cli.path(FILE)).unwrap();
    assert_eq!(check().code, Some(0));
}
