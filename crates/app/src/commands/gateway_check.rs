//! `trunkline gateway-check`: the simulator behind any gateway, and what a client reads through it.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;
use trunkline_gateway_check::{Bench, Profile, Report, page};
use trunkline_simulator::{Settings, Simulator};
use trunkline_types::Secret;

use crate::cli::GatewayCheckArguments;
use crate::files::read_bounded;
use crate::output::Output;

const MAX_PROFILE_BYTES: u64 = 1_000_000;
const MAX_RESULTS_BYTES: u64 = 64_000_000;
/// Failed checks that are printed for a person; a program gets all of them.
const PRINTED: usize = 30;

pub(super) async fn run(
    options: GatewayCheckArguments,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let profile = match &options.profile {
        Some(file) => Profile::read(&text(file, MAX_PROFILE_BYTES)?)?,
        None => Profile::own()?,
    };
    let profile = profile.with_version(options.gateway_version);
    let configuration = options.configuration.as_deref();
    let configuration = configuration.map(|file| text(file, MAX_PROFILE_BYTES));
    let configuration = configuration.transpose()?;
    // Read before anything runs: a run takes a while.
    let others: Vec<Report> = options
        .others
        .iter()
        .map(|file| {
            let results = serde_json::from_str(&text(file, MAX_RESULTS_BYTES)?);
            results.with_context(|| format!("{} holds no results", file.display()))
        })
        .collect::<anyhow::Result<_>>()?;
    let (simulator, address) = match options.simulator {
        Some(url) => (None, url),
        None => {
            let settings = Settings {
                bind: options.listen,
                ..Settings::default()
            };
            let simulator = Simulator::start(settings).await;
            let simulator =
                simulator.with_context(|| format!("cannot listen on {}", options.listen))?;
            let address = simulator.base_url();
            (Some(simulator), address)
        }
    };
    let key = Secret::new(options.key);
    let bench = Bench::new(profile, &options.target, key, &address).await?;
    let report = bench.run(&options.only, configuration).await?;
    if let Some(simulator) = simulator {
        simulator.stop().await;
    }
    if let Some(file) = &options.save {
        write(file, &serde_json::to_string(&report)?)?;
    }
    let result = reported(&report, output);
    if let Some(file) = &options.page {
        let mut reports = vec![report];
        reports.extend(others);
        write(file, &page(&reports))?;
    }
    Ok(result)
}

fn reported(report: &Report, output: &Output) -> ExitCode {
    let score = report.score();
    let unexplained = report.unexplained();
    let mut lines = vec![format!(
        "{} checks: {} passed, {} failed ({} explained), {} not run",
        score.checks, score.passed, score.failed, score.explained, score.not_run
    )];
    lines.push(format!(
        "fields lost {}, streams broken {} of {}, USD wrong per 1,000 calls {}",
        score.fields_lost,
        score.streams_broken,
        score.streams,
        score
            .usd_wrong_per_1000_calls
            .as_deref()
            .unwrap_or("not scored"),
    ));
    lines.extend(unexplained.iter().take(PRINTED).cloned());
    let more = unexplained.len().saturating_sub(PRINTED);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    let object = json!({
        "ok": unexplained.is_empty(), "score": score, "unexplained": unexplained,
    });
    if unexplained.is_empty() {
        output.success(&lines.join("\n"), &object);
        ExitCode::SUCCESS
    } else {
        output.finding(&lines.join("\n"), &object);
        ExitCode::FAILURE
    }
}

fn text(file: &Path, most: u64) -> anyhow::Result<String> {
    read_bounded(file, most).with_context(|| format!("cannot read {}", file.display()))
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
