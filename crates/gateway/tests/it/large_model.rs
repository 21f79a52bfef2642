//! A gateway that sells models with long answers, at the prices of `trunkline dev`.

use trunkline_gateway::Settings;

use crate::test_gateway::TestGateway;

/// The first one thinks, and its thoughts are in the upstream's usage alone; the second one does not.
const LARGE: &str = r#"
[models.sim-large]
groups = ["default"]
tasks = ["chat", "reasoning"]
specs = { max_output_tokens = 32768 }
[models.sim-large.prices]
billing_unit = "tokens"
standard = { input = 2500000, output = 10000000, cache_read = 250000 }

[models.sim-plain]
groups = ["default"]
specs = { max_output_tokens = 32768 }
[models.sim-plain.prices]
billing_unit = "tokens"
standard = { input = 2500000, output = 10000000, cache_read = 250000 }
"#;

pub(crate) async fn with_large(settings: Settings) -> TestGateway {
    let harness = TestGateway::with(settings, 10_000_000_000, 0).await;
    harness.sell(LARGE).await;
    let base = harness.simulator.base_url();
    let own = ["sim-large", "sim-plain"].map(|name| (name, name));
    harness.channel("large", &base, 10, &own).await;
    harness
}
