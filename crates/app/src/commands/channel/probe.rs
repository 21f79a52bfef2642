//! `trunkline channel test`: one harmless call with each credential.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_console::operations::channel_test::{self, PATIENCE, TestedCredential};
use trunkline_db::Database;
use trunkline_store::channels::{self, Channel, ChannelState};
use trunkline_upstream::Client;

use super::{known_provider, providers, unknown};
use crate::commands::keyring;
use crate::config::Config;
use crate::output::Output;
use crate::table;

/// What the test of a channel came to.
struct Tested {
    good: bool,
    text: String,
    object: Value,
}

/// Tests one channel, or every active one.
pub(super) async fn run(
    config: &Config,
    database: &Database,
    name: Option<&str>,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let mut session = database.session().await?;
    let Some(name) = name else {
        let mut channels = channels::list(&mut session).await?;
        drop(session);
        channels.retain(|channel| channel.state == ChannelState::Active);
        return run_all(config, &channels, output).await;
    };
    let channel = channels::find(&mut session, name).await?;
    drop(session);
    let channel = channel.ok_or_else(|| unknown(name))?;
    let tested = test(config, &channel).await?;
    Ok(finish(output, tested.good, &tested.text, &tested.object))
}

async fn run_all(
    config: &Config,
    channels: &[Channel],
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let mut good = true;
    let (mut texts, mut objects) = (Vec::new(), Vec::new());
    for channel in channels {
        let tested = match test(config, channel).await {
            Ok(tested) => tested,
            // One that cannot be tested does not keep the others from it.
            Err(error) => Tested {
                good: false,
                text: format!("{error:#}"),
                object: json!({ "ok": false, "channel": channel.name, "problem": format!("{error:#}") }),
            },
        };
        good &= tested.good;
        texts.push(format!("{}\n{}", channel.name, tested.text));
        objects.push(tested.object);
    }
    let object = json!({ "ok": good, "channels": objects });
    Ok(finish(output, good, &texts.join("\n\n"), &object))
}

async fn test(config: &Config, channel: &Channel) -> anyhow::Result<Tested> {
    let providers = providers(config)?;
    let provider = known_provider(&providers, &channel.provider)?;
    let keyring = keyring::open(config)?;
    let connect = Duration::from_millis(provider.connect_ms).min(PATIENCE);
    let client = Client::with_roots(connect, &config.extra_roots)?;
    let all = channel_test::test(&client, &keyring, provider, channel, PATIENCE).await?;
    let good = all.iter().all(TestedCredential::is_good);
    Ok(Tested {
        good,
        text: result_table(&all),
        object: json!({
            "ok": good,
            "channel": channel.name,
            "credentials": all.iter().map(result_json).collect::<Vec<Value>>(),
        }),
    })
}

fn finish(output: &Output, good: bool, text: &str, object: &Value) -> ExitCode {
    if good {
        output.success(text, object);
        return ExitCode::SUCCESS;
    }
    output.finding(text, object);
    ExitCode::FAILURE
}

fn result_json(found: &TestedCredential) -> Value {
    json!({
        "label": found.label,
        "hint": found.hint,
        "ok": found.is_good(),
        "status": found.status,
        "problem": found.problem,
        "models_listed": found.models_listed,
        "models_missing": found.models_missing,
    })
}

fn result_table(all: &[TestedCredential]) -> String {
    let cells: Vec<Vec<String>> = all
        .iter()
        .map(|found| {
            let result = match (&found.problem, found.models_listed) {
                (Some(problem), _) => problem.clone(),
                (None, None) => "responds, without a list of models".to_owned(),
                (None, Some(listed)) => match found.models_missing.as_slice() {
                    [] => format!("answers, {listed} models"),
                    names => format!("responds, but does not list {}", names.join(", ")),
                },
            };
            vec![found.label.clone(), found.hint.clone(), result]
        })
        .collect();
    table::aligned(&["credential", "hint", "result"], &[], &cells)
}
