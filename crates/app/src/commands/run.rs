//! `trunkline run`: a command with a key of its own that cannot spend more than its budget, expires by itself
//! and is deleted when the command ends.

mod agents;
mod gateway;
mod receipt;

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior};

use self::agents::Launch;
use self::gateway::{Gateway, SubKey};
use self::receipt::Receipt;
use crate::cli::RunArguments;
use crate::output::Output;

/// Between two looks at what was spent.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Calls that the command left behind are settled within this, or the receipt says that it is not complete.
const SETTLED_WITHIN: Duration = Duration::from_secs(20);
/// A command that was told to end has so long to do it. A supervisor will not wait much longer for the receipt.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
const SETTLED_LOOK: Duration = Duration::from_millis(250);
/// What a shell reports for a command that a signal has ended.
const SIGNALLED: u8 = 128;

pub(super) async fn run(options: RunArguments, output: &Output) -> anyhow::Result<ExitCode> {
    let gateway = Gateway::connect(options.url.as_deref())?;
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

/// Runs the command to its end and shows meanwhile what it has spent. A signal that would end this process
/// goes to the command instead, and the receipt follows.
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
    let mut ends_by: Option<Instant> = None;
    loop {
        let told_to_end = tokio::select! {
            status = child.wait() => return Ok(status?),
            _ = interrupt.recv() => {
                // A terminal has sent it to the command as well; a second one means something else to an agent.
                if !io::stdin().is_terminal() {
                    forward("INT", &mut child).await?;
                }
                false
            }
            _ = terminate.recv() => forward("TERM", &mut child).await?,
            _ = hangup.recv() => forward("HUP", &mut child).await?,
            () = until(ends_by) => {
                child.start_kill()?;
                ends_by = None;
                false
            }
            _ = look.tick() => {
                show_spend(gateway, key, options).await;
                false
            }
        };
        if told_to_end && ends_by.is_none() {
            ends_by = Instant::now().checked_add(ENDS_WITHIN);
        }
    }
}

/// Passes a signal on; a command that cannot get it is ended.
async fn forward(name: &str, child: &mut Child) -> anyhow::Result<bool> {
    // Without a number it has ended already.
    let Some(id) = child.id() else {
        return Ok(false);
    };
    let sent = Command::new("kill")
        .args(["-s", name, &id.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !sent.await.is_ok_and(|status| status.success()) {
        child.start_kill()?;
    }
    Ok(true)
}

/// Never, where there is no such moment.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
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
