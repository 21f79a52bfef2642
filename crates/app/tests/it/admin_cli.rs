//! The executable as the administration of a database, and calls that spend what it booked.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use trunkline_db::{Role, SystemClock};
use trunkline_ledger::{
    Detail, Ledger, LedgerSettings, OnCallerGone, Outcome, Owner, Refund, RefundKind, Reserve,
    ReserveAnswer, Settle, Wallets,
};
use trunkline_testkit::{Db, random_bytes};
use trunkline_types::{AccountId, Clock as _, KeyId, Money, NodeId, RequestId};

/// What a command printed and how it ended.
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A database and the executable in front of it.
pub(crate) struct AdminCli {
    pub(crate) db: Db,
    directory: tempfile::TempDir,
}

impl AdminCli {
    pub(crate) async fn new() -> Self {
        Self {
            db: Db::fresh().await,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// Runs `trunkline` with the login of a role.
    pub(crate) fn run_as(&self, role: Role, words: &[&str]) -> CommandOutput {
        let output = self.command(role, words).output().unwrap();
        CommandOutput::of(&output)
    }

    /// Runs `trunkline` with a variable more in its environment and something to read.
    pub(crate) fn run_with(
        &self,
        variable: (&str, &str),
        input: &str,
        words: &[&str],
    ) -> CommandOutput {
        let mut child = self
            .command(Role::Console, words)
            .env(variable.0, variable.1)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command that refuses early does not read; that is its right.
        drop(stdin.write_all(input.as_bytes()));
        drop(stdin);
        CommandOutput::of(&child.wait_with_output().unwrap())
    }

    pub(crate) fn command(&self, role: Role, words: &[&str]) -> Command {
        let url = self.db.url(role);
        let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
        command
            .args(words)
            .current_dir(self.directory.path())
            .env_clear()
            .env("TRUNKLINE__DATABASE__URL", url.reveal())
            .env("TRUNKLINE__DATABASE__ACQUIRE_TIMEOUT_MS", "30000");
        command
    }

    /// Writes a file where the executable runs.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Where a file is when the executable runs.
    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn run(&self, words: &[&str]) -> CommandOutput {
        self.run_as(Role::Console, words)
    }

    /// Runs a command that must succeed, and reads its JSON.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let reply = self.run(&[words, &["--json"]].concat());
        assert_eq!(reply.code, Some(0), "{words:?}: {reply:?}");
        reply.json()
    }

    /// Runs a command that must fail, and gives back what it said.
    pub(crate) fn refused(&self, words: &[&str]) -> String {
        let reply = self.run(words);
        assert_eq!(reply.code, Some(1), "{words:?}: {reply:?}");
        reply.err
    }

    pub(crate) fn account(&self, name: &str) -> i64 {
        let made = self.json(&["account", "create", "--name", name]);
        made["account"]["id"].as_i64().unwrap()
    }

    /// A key's number and its text.
    pub(crate) fn key(&self, account: i64, words: &[&str]) -> (i64, String) {
        let account = account.to_string();
        let made = self.json(&[&["key", "create", &account, "--name", "k"][..], words].concat());
        let text = made["key"].as_str().unwrap().to_owned();
        (made["row"]["id"].as_i64().unwrap(), text)
    }

    /// A call of a key that costs so much; `back` gives it back at once.
    pub(crate) async fn call(&self, account: i64, key: i64, cost: Money, back: bool) -> RequestId {
        let data = self.db.connect(Role::Data).await;
        let node = NodeId::new("n1").unwrap();
        let (ledger, _tasks) = Ledger::open(data, &node, LedgerSettings::default())
            .await
            .unwrap();
        let account = AccountId::new(account);
        let request = RequestId::new(SystemClock.now(), random_bytes());
        let held = ledger.reserve(reserve(request, account, key, cost)).await;
        assert!(matches!(held, Ok(ReserveAnswer::Held { .. })), "{held:?}");
        let settle = Settle {
            request,
            account,
            amount: cost,
            unpaid: None,
            detail: Detail::nothing(Outcome::Complete),
            on_caller_gone: OnCallerGone::Refund,
        };
        ledger.settle(settle).await.unwrap();
        if back {
            let refund = Refund {
                request,
                account,
                kind: RefundKind::Refund,
                amount: None,
            };
            ledger.refund(refund).await.unwrap();
        }
        request
    }

    /// Does what no role may.
    pub(crate) fn as_superuser(&self, statement: &str) {
        let url = self.db.superuser_url();
        let done = Command::new("psql")
            .args(["-v", "ON_ERROR_STOP=1", "-c", statement, url.reveal()])
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }
}

pub(crate) fn reserve(request: RequestId, account: AccountId, key: i64, amount: Money) -> Reserve {
    Reserve {
        request,
        account,
        key: Some(KeyId::new(key)),
        owner: Owner::Request,
        amount,
        wallets: Wallets::TrialFirst,
        model: "model".to_owned(),
        endpoint: "chat".to_owned(),
        group: "default".to_owned(),
        price_version: [7; 32],
        lifetime: Duration::from_secs(600),
        capacity: None,
        idempotency: None,
    }
}

impl CommandOutput {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout.clone()).unwrap(),
            err: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl std::fmt::Debug for CommandOutput {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}\n{}\n{}", self.code, self.out, self.err)
    }
}
