//! One run: which cases are sent, in which order, and when it stops.

use std::time::Duration;

use anyhow::Context as _;
use trunkline_simulator::{Settings, Simulator};
use trunkline_types::{Money, Secret};
use trunkline_upstream::{Client, Format, Providers};

use crate::budget::{self, Budget};
use crate::cases::Case;
use crate::diff::differences;
use crate::prices;
use crate::report::Report;
use crate::request::Target;
use crate::vendor::Vendor;

/// The options of a run.
pub(crate) struct Options {
    pub(crate) provider: String,
    pub(crate) vendor: Vendor,
    pub(crate) key: Option<Secret>,
    pub(crate) most: Money,
    /// The vendor's base URL, if not the one of its provider file.
    pub(crate) base_url: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunResult {
    Same,
    Different,
}

const SIMULATOR_KEY: &str = "the-simulators-own-key";
const SIMULATOR_MODEL: &str = "sim-small";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn run(options: &Options, report: &Report) -> anyhow::Result<RunResult> {
    let name = &options.provider;
    let Some(key) = &options.key else {
        report.say(&format!(
            "vendor-check {name}: {} is not set; nothing was sent",
            options.vendor.key_env
        ));
        for case in Case::ALL {
            report.say(&format!("  {}: skipped, no key", case.as_str()));
        }
        return Ok(RunResult::Same);
    };
    let providers = Providers::builtin()?;
    let provider = providers
        .get(name)
        .context("a vendor table without a provider")?;
    anyhow::ensure!(
        provider.speaks(Format::OpenaiChat),
        "{name} speaks no format that has cases"
    );
    let base_url = options.base_url.as_ref().or(provider.base_url.as_ref());
    let base_url =
        base_url.with_context(|| format!("{name} has no address; set VENDOR_CHECK_BASE_URL"))?;
    let settings = Settings {
        keys: vec![SIMULATOR_KEY.to_owned()],
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.context("the simulator")?;
    let client = Client::new(CONNECT_TIMEOUT)?;
    let vendor = Target {
        client: &client,
        provider,
        base_url: base_url.trim_end_matches('/'),
        model: &options.vendor.model,
        key,
    };
    let ours = Target {
        base_url: &simulator.base_url(),
        model: SIMULATOR_MODEL,
        key: &Secret::new(SIMULATOR_KEY.to_owned()),
        ..vendor
    };
    report.say(&format!(
        "vendor-check {name}: {} at {}, at most {} USD",
        vendor.model, vendor.base_url, options.most
    ));
    let ended = compare(options, &vendor, &ours, report).await;
    simulator.stop().await;
    ended
}

async fn compare(
    options: &Options,
    vendor: &Target<'_>,
    ours: &Target<'_>,
    report: &Report,
) -> anyhow::Result<RunResult> {
    let mut budget = Budget::new(options.most);
    let (mut sent, mut different, mut is_spent) = (0_u32, 0_usize, false);
    for case in Case::ALL {
        let word = case.as_str();
        if options
            .vendor
            .unspoken
            .iter()
            .any(|unspoken| unspoken == word)
        {
            report.say(&format!("  {word}: skipped, the vendor does not speak it"));
            continue;
        }
        let bytes = case.body(vendor.provider, vendor.model).len();
        let cost = budget::bound(&options.vendor, bytes, case.output_tokens())?;
        // After the first case that exceeds the budget no other is sent, so that a run is predictable.
        if is_spent || !budget.take(cost) {
            is_spent = true;
            report.say(&format!(
                "  {word}: not sent, it may cost {cost} USD and would pass VENDOR_CHECK_MAX_USD"
            ));
            continue;
        }
        sent = sent.saturating_add(1);
        let simulated = ours
            .ask(case)
            .await
            .context("the simulator did not answer")?;
        let lines = match vendor.ask(case).await {
            Ok(observed) => {
                let mut lines = differences(&observed, &simulated);
                let prices = observed.prices;
                lines.extend(
                    prices
                        .into_iter()
                        .flat_map(|listed| prices::differences(listed, &options.vendor)),
                );
                lines
            }
            Err(error) => vec![format!("the vendor gave no answer: {error:#}")],
        };
        different = different.saturating_add(lines.len());
        match lines.len() {
            0 => report.say(&format!("  {word}: same ({})", simulated.status)),
            count => report.say(&format!("  {word}: {count} different")),
        }
        for line in lines {
            report.say(&format!("    {line}"));
        }
    }
    let summary = match sent {
        0 => "nothing was sent".to_owned(),
        sent => format!("{sent} cases sent, at most {} USD spent", budget.bound()),
    };
    report.say(&format!(
        "vendor-check {}: {summary}; {different} differences",
        options.provider
    ));
    Ok(if different == 0 {
        RunResult::Same
    } else {
        RunResult::Different
    })
}
