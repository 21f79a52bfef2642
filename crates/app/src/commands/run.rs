//! `trunkline run`: a command with a key of its own that cannot spend more than its budget, expires by itself
//! and is deleted when the command ends.

mod agents;
mod gateway;
mod receipt;

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior};

use self::agents::Launch;
use self::gateway::{Gateway, SubKey};
use self::receipt::Receipt;
use crate::cli::RunArguments;
use crate::output::Output;

const KEY_VARIABLE: &str = "TRUNKLINE_KEY";
const URL_VARIABLE: &str = "TRUNKLINE_BASE_URL";
/// Between two looks at what was spent.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Calls that the command left behind are settled within this, or the receipt says that it is not complete.
const SETTLED_WITHIN: Duration = Duration::from_secs(20);
const SETTLED_LOOK: Duration = Duration::from_millis(250);
/// What a shell reports for a command that a signal has ended.
const SIGNALLED: u8 = 128;

pub(super) async fn run(options: RunArguments, output: &Output) -> anyhow::Result<ExitCode> {
    let gateway = connect(options.url.as_deref())?;
    let key = gateway.create_key(&options).await?;
    let ended = supervise(&gateway, &key, &options).await;
    // The key goes first: nothing can be added to the receipt afterwards but calls that run already.
    let revoked = gateway.disable(&key).await;
    let receipt = settled(&gateway, &key).await;
    let revoked = match revoked {
        Ok(()) => gateway.delete(&key).await,
        Err(error) => Err(error),
    };
    if let Err(error) = &revoked {
        tracing::warn!(%error, key.id = key.id, "run: deleting the key failed; it expires by itself");
    }
    let status = ended?;
    let receipt = receipt.context("the receipt cannot be read; GET /v1/usage shows the calls")?;
    let text = receipt.text(&key, options.budget);
    let object = json!({
        "ok": revoked.is_ok(), "key": key.id, "budget_usd": options.budget.to_string(),
        "exit_code": code(status), "receipt": receipt.object(),
    });
    if output.is_for_programs() {
        output.success(&text, &object);
    } else {
        // Standard output is the command's own.
        drop(writeln!(io::stderr().lock(), "{text}"));
    }
    Ok(ExitCode::from(code(status)))
}

fn connect(url: Option<&str>) -> anyhow::Result<Gateway> {
    let variable = |name: &str| {
        #[expect(
            clippy::disallowed_methods,
            reason = "a customer's key and address, not configuration of a node"
        )]
        let value = std::env::var(name);
        value.ok().filter(|value| !value.is_empty())
    };
    let Some(key) = variable(KEY_VARIABLE) else {
        bail!("{KEY_VARIABLE} is not set; it holds your API key");
    };
    let Some(url) = url.map(str::to_owned).or_else(|| variable(URL_VARIABLE)) else {
        bail!("no address; use --url or set {URL_VARIABLE}");
    };
    Gateway::new(&url, key)
}

/// Runs the command to its end and shows meanwhile what it has spent. A signal that would end this process
/// ends the command instead.
async fn supervise(
    gateway: &Gateway,
    key: &SubKey,
    options: &RunArguments,
) -> anyhow::Result<ExitStatus> {
    let launch = Launch::new(&options.command, gateway.base_url(), &key.secret)
        .with_model(options.model.as_deref());
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut child = spawn(&launch)?;
    let mut look = tokio::time::interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            status = child.wait() => return Ok(status?),
            // The terminal has sent it to the command as well, which decides what it means.
            _ = interrupt.recv() => {}
            _ = terminate.recv() => child.start_kill()?,
            _ = hangup.recv() => child.start_kill()?,
            _ = look.tick() => show_spend(gateway, key, options).await,
        }
    }
}

fn spawn(launch: &Launch) -> anyhow::Result<Child> {
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.arguments)
        .stdin(Stdio::inherit())
        .kill_on_drop(true);
    for name in agents::OTHER_CREDENTIALS {
        command.env_remove(name);
    }
    for variable in &launch.variables {
        command.env(variable.name, &variable.value);
    }
    let spawned = command.spawn();
    spawned.with_context(|| format!("cannot start {}", launch.program))
}

/// The terminal's title; where there is none, nothing is shown before the receipt.
async fn show_spend(gateway: &Gateway, key: &SubKey, options: &RunArguments) {
    if !io::stderr().is_terminal() {
        return;
    }
    if let Ok(spent) = gateway.spent(key).await {
        let title = format!("${spent} of ${} spent", options.budget);
        drop(write!(io::stderr().lock(), "\x1b]0;{title}\x07"));
    }
}

/// The receipt, when no call of the key runs any more: its budget holds what open calls have reserved.
async fn settled(gateway: &Gateway, key: &SubKey) -> anyhow::Result<Receipt> {
    let began = Instant::now();
    loop {
        let used = gateway.spent(key).await?;
        let mut receipt = gateway.receipt(key).await?;
        if receipt.net() == used {
            return Ok(receipt);
        }
        if began.elapsed() > SETTLED_WITHIN {
            receipt.still_held = used.checked_sub(receipt.net()).ok();
            return Ok(receipt);
        }
        tokio::time::sleep(SETTLED_LOOK).await;
    }
}

fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let ended = status.code().and_then(|code| u8::try_from(code).ok());
    let signal = status.signal().and_then(|signal| u8::try_from(signal).ok());
    ended
        .or_else(|| signal.map(|signal| SIGNALLED.saturating_add(signal)))
        .unwrap_or(1)
}
