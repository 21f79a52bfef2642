//! `trunkline-vendor-check PROVIDER`: sends the same small requests to a real vendor and to the simulator, and
//! prints where the responses differ in shape. It spends at most `VENDOR_CHECK_MAX_USD` and never prints a key.
//! Why it is a separate crate: `docs/adr/0010-vendor-check.md`.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

mod budget;
mod cases;
mod diff;
mod frames;
mod prices;
mod report;
mod request;
mod run;
mod shape;
mod vendor;

use std::process::ExitCode;

use anyhow::Context as _;
use trunkline_types::{Money, Secret};

use report::Report;
use run::{Options, RunResult};
use vendor::Vendor;

/// The default budget: 0.05 USD.
const DEFAULT_MOST: Money = Money::from_nanos(50_000_000);

#[tokio::main]
async fn main() -> ExitCode {
    let mut report = Report::new();
    match begin(&mut report).await {
        Ok(RunResult::Same) => ExitCode::SUCCESS,
        Ok(RunResult::Different) => ExitCode::FAILURE,
        Err(error) => {
            report.say(&format!("vendor-check: {error:#}"));
            ExitCode::from(2)
        }
    }
}

async fn begin(report: &mut Report) -> anyhow::Result<RunResult> {
    let mut words = std::env::args().skip(1);
    let (Some(provider), None) = (words.next(), words.next()) else {
        let known: Vec<&str> = Vendor::names().collect();
        anyhow::bail!(
            "say one provider, such as `just vendor-check openai`; there are {}",
            known.join(", ")
        );
    };
    let vendor = Vendor::find(&provider)?;
    let key = variable(&vendor.key_env).map(Secret::new);
    if let Some(key) = &key {
        report.hide(key.clone());
    }
    let most = match variable("VENDOR_CHECK_MAX_USD") {
        None => DEFAULT_MOST,
        Some(text) => text
            .parse()
            .with_context(|| "VENDOR_CHECK_MAX_USD must be an amount such as 0.05")?,
    };
    let options = Options {
        provider,
        vendor,
        key,
        most,
        base_url: variable("VENDOR_CHECK_BASE_URL"),
    };
    run::run(&options, report).await
}

/// An empty variable counts as unset.
#[expect(
    clippy::disallowed_methods,
    reason = "this program has no configuration but a few variables, and is in nothing that is shipped"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
