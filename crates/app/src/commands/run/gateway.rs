//! The customer's side of the API: a sub-key, what it has spent, its calls, its end.

use anyhow::Context as _;
use http::Method;
use serde::Deserialize;
use serde_json::json;
use trunkline_types::Money;

use super::receipt::{Line, Receipt};
use crate::cli::RunArguments;
use crate::commands::gateway_client::GatewayClient;

/// Calls that a receipt lists; its sums are of all.
const MAX_LINES: usize = 1_000;

/// A gateway as `trunkline run` uses it.
pub(super) struct Gateway {
    client: GatewayClient,
}

/// The key of the command.
#[derive(Deserialize)]
pub(super) struct SubKey {
    pub(super) id: i64,
    #[serde(rename = "key")]
    pub(super) secret: String,
}

#[derive(Deserialize)]
struct KeyView {
    budgets: Vec<Budget>,
}

#[derive(Deserialize)]
struct Budget {
    used_usd: String,
}

#[derive(Deserialize)]
struct Sums {
    totals: Totals,
}

#[derive(Deserialize)]
struct Totals {
    calls: u64,
    charged_usd: String,
    refunded_usd: String,
}

#[derive(Deserialize)]
struct Call {
    request_id: String,
    model: String,
    outcome: String,
    paid_usd: String,
    trial_usd: String,
    refunded_usd: String,
}

// === impl Gateway ===

impl Gateway {
    pub(super) fn connect(url: Option<&str>) -> anyhow::Result<Self> {
        let client = GatewayClient::connect(url)?;
        Ok(Self { client })
    }

    pub(super) fn base_url(&self) -> &str {
        self.client.base_url()
    }

    pub(super) async fn create_key(&self, options: &RunArguments) -> anyhow::Result<SubKey> {
        let program = options.command.first().map_or("", String::as_str);
        let name: String = format!("trunkline run {program}")
            .chars()
            .take(100)
            .collect();
        let body = json!({
            "name": name,
            "cap_usd": options.budget.to_string(),
            "expires_in_seconds": options.lifetime_seconds,
        });
        let made = self
            .client
            .call(Method::POST, "/v1/keys", Some(body))
            .await?;
        let made = serde_json::from_slice(&made);
        made.context("POST /v1/keys: not the answer of a Trunkline gateway")
    }

    /// What the key has used of its budget: charges, and what open calls have reserved.
    pub(super) async fn spent(&self, key: &SubKey) -> anyhow::Result<Money> {
        let path = format!("/v1/keys/{}", key.id);
        let view = self.client.call(Method::GET, &path, None).await?;
        let view: KeyView = serde_json::from_slice(&view)?;
        let own = view.budgets.first();
        own.map_or(Ok(Money::ZERO), |budget| Ok(budget.used_usd.parse()?))
    }

    pub(super) async fn receipt(&self, key: &SubKey) -> anyhow::Result<Receipt> {
        let sums = format!("/v1/usage?key={}&group_by=key", key.id);
        let sums = self.client.call(Method::GET, &sums, None).await?;
        let Sums { totals } = serde_json::from_slice(&sums)?;
        let calls = format!("/v1/usage?detail=calls&key={}&limit={MAX_LINES}", key.id);
        let calls = self.client.call(Method::GET, &calls, None).await?;
        let lines = String::from_utf8_lossy(&calls)
            .lines()
            .map(line)
            .collect::<anyhow::Result<Vec<Line>>>()?;
        Ok(Receipt {
            calls: totals.calls,
            charged: totals.charged_usd.parse()?,
            refunded: totals.refunded_usd.parse()?,
            lines,
            still_held: None,
        })
    }

    /// From now on no call begins with it.
    pub(super) async fn disable(&self, key: &SubKey) -> anyhow::Result<()> {
        let path = format!("/v1/keys/{}/disable", key.id);
        self.client.call(Method::POST, &path, None).await?;
        Ok(())
    }

    pub(super) async fn delete(&self, key: &SubKey) -> anyhow::Result<()> {
        let path = format!("/v1/keys/{}", key.id);
        self.client.call(Method::DELETE, &path, None).await?;
        Ok(())
    }
}

fn line(text: &str) -> anyhow::Result<Line> {
    let call: Call = serde_json::from_str(text)?;
    let paid: Money = call.paid_usd.parse()?;
    Ok(Line {
        request: call.request_id,
        model: call.model,
        outcome: call.outcome,
        charged: paid.checked_add(call.trial_usd.parse()?)?,
        refunded: call.refunded_usd.parse()?,
    })
}
