//! A gateway that sells social data: every cell has a price, and one channel to the source serves them.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use trunkline_gateway::Settings;
use trunkline_simulator::SocialCall;
use trunkline_social::{Cell, Cells};
use trunkline_types::Money;

use crate::response::GatewayResponse;
use crate::test_gateway::{ChannelOptions, TestGateway, TestOptions};

/// Pico-USD in a nano-USD.
const PICO: i64 = 1_000;
/// Money in the paid wallet: 100 USD.
pub(crate) const PAID: i64 = 100_000_000_000;

pub(crate) fn cells() -> Cells {
    Cells::builtin().unwrap()
}

pub(crate) fn cell(platform: &str, capability: &str) -> Arc<Cell> {
    Arc::clone(cells().get(platform, capability).unwrap())
}

/// What a call costs here: the published price, or twice what the source asks.
pub(crate) fn price(cell: &Cell) -> Money {
    let twice = cell.cost.usd.nanos() * 2;
    cell.price.unwrap_or(Money::from_nanos(twice))
}

/// Records of cells at their prices.
pub(crate) fn records<'a>(cells: impl IntoIterator<Item = &'a Arc<Cell>>) -> String {
    let mut text = String::new();
    for cell in cells {
        let (model, pico) = (&cell.model, price(cell).nanos() * PICO);
        write!(
            text,
            "[models.\"{model}\"]\ngroups = [\"default\"]\nendpoints = []\ntasks = [\"social-data\"]\n\
             [models.\"{model}\".prices]\nbilling_unit = \"per_call\"\nstandard = {{ per_call = {pico} }}\n"
        )
        .unwrap();
    }
    text
}

impl TestGateway {
    /// Every cell is sold, by one channel.
    pub(crate) async fn of_social() -> Self {
        Box::pin(Self::social_with(Settings::default(), PAID, 0)).await
    }

    pub(crate) async fn social_with(settings: Settings, paid: i64, trial: i64) -> Self {
        let options = TestOptions {
            settings,
            paid,
            trial,
            ..TestOptions::default()
        };
        Box::pin(Self::social_built(options)).await
    }

    pub(crate) async fn social_built(options: TestOptions) -> Self {
        let harness = Self::build(options).await;
        harness.sell(&records(cells().all())).await;
        harness.source("source").await;
        harness
    }

    /// A channel to the source, for every cell.
    pub(crate) async fn source(&self, name: &str) {
        let base = format!("http://{}", self.simulator.address());
        self.source_at(name, &base, 10).await;
    }

    pub(crate) async fn source_at(&self, name: &str, base: &str, priority: i32) {
        let all = cells();
        let models: Vec<(&str, &str)> = all
            .all()
            .map(|cell| (cell.model.as_str(), cell.model.as_str()))
            .collect();
        let options = ChannelOptions {
            provider: Some("tikhub"),
            priority,
            ..ChannelOptions::default()
        };
        self.channel_with(name, base, &models, options).await;
    }

    /// One call.
    pub(crate) async fn look(&self, pair: &str, query: &str) -> GatewayResponse {
        self.look_with(pair, query, &[]).await
    }

    pub(crate) async fn look_with(
        &self,
        pair: &str,
        query: &str,
        extra: &[(&'static str, &str)],
    ) -> GatewayResponse {
        let path = path(pair, query);
        GatewayResponse::read(
            self.send_with(Method::GET, &path, Bytes::new(), extra)
                .await,
        )
        .await
    }

    /// The calls that the source received, oldest first.
    pub(crate) fn vendor_calls(&self) -> Vec<SocialCall> {
        self.simulator.social_calls()
    }
}

pub(crate) fn path(pair: &str, query: &str) -> String {
    match query {
        "" => format!("/v1/social/{pair}"),
        query => format!("/v1/social/{pair}?{query}"),
    }
}

/// A value in a query.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").unwrap();
        }
    }
    out
}

/// The example of a parameter as a pair of a query.
pub(crate) fn example(cell: &Cell, name: &str) -> String {
    let example = cell.param(name).unwrap().example.as_ref().unwrap();
    let text = example
        .as_str()
        .map_or_else(|| example.to_string(), str::to_owned);
    format!("{name}={}", escaped(&text))
}

/// What a good call needs: required ones, and the first of each group.
pub(crate) fn needed(cell: &Cell) -> Vec<String> {
    let required = cell.params.iter().filter(|param| param.required);
    let required = required.map(|param| param.name.clone());
    let groups = cell.require_one_of.iter().map(|group| group[0].clone());
    required.chain(groups).collect()
}

pub(crate) fn query(cell: &Cell, names: &[String]) -> String {
    let pairs: Vec<String> = names.iter().map(|name| example(cell, name)).collect();
    pairs.join("&")
}

pub(crate) fn pair(cell: &Cell) -> String {
    format!("{}/{}", cell.platform.key, cell.capability.as_str())
}
