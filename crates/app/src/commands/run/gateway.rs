//! The customer's side of the API: a sub-key, what it has spent, its calls, its end.

use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde::Deserialize;
use serde_json::{Value, json};
use trunkline_types::Money;
use trunkline_upstream::{Client, Deadlines, Outgoing, Protocol};

use super::receipt::{Line, Receipt};
use crate::cli::RunArguments;

const CONNECTS_WITHIN: Duration = Duration::from_secs(10);
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
const MAX_ANSWER_BYTES: usize = 8_000_000;
/// Calls that a receipt lists; its sums are of all.
const MAX_LINES: usize = 1_000;

/// A gateway as its customer sees it.
pub(super) struct Gateway {
    client: Client,
    base_url: String,
    key: String,
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

#[derive(Deserialize)]
struct Refusal {
    error: Reason,
}

#[derive(Deserialize)]
struct Reason {
    message: String,
}

// === impl Gateway ===

impl Gateway {
    /// With an address that may end in `/v1`, as SDKs write it.
    pub(super) fn new(url: &str, key: String) -> anyhow::Result<Self> {
        let base_url = url.trim_end_matches('/').trim_end_matches("/v1").to_owned();
        Ok(Self {
            client: Client::new(CONNECTS_WITHIN)?,
            base_url,
            key,
        })
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
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
        let made = self.call(Method::POST, "/v1/keys", Some(body)).await?;
        let made = serde_json::from_slice(&made);
        made.context("POST /v1/keys: not the answer of a Trunkline gateway")
    }

    /// What the key has used of its budget: charges, and what open calls have reserved.
    pub(super) async fn spent(&self, key: &SubKey) -> anyhow::Result<Money> {
        let path = format!("/v1/keys/{}", key.id);
        let view = self.call(Method::GET, &path, None).await?;
        let view: KeyView = serde_json::from_slice(&view)?;
        let own = view.budgets.first();
        own.map_or(Ok(Money::ZERO), |budget| Ok(budget.used_usd.parse()?))
    }

    pub(super) async fn receipt(&self, key: &SubKey) -> anyhow::Result<Receipt> {
        let sums = format!("/v1/usage?key={}&group_by=key", key.id);
        let sums = self.call(Method::GET, &sums, None).await?;
        let Sums { totals } = serde_json::from_slice(&sums)?;
        let calls = format!("/v1/usage?detail=calls&key={}&limit={MAX_LINES}", key.id);
        let calls = self.call(Method::GET, &calls, None).await?;
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
        self.call(Method::POST, &path, None).await.map(drop)
    }

    pub(super) async fn delete(&self, key: &SubKey) -> anyhow::Result<()> {
        let path = format!("/v1/keys/{}", key.id);
        self.call(Method::DELETE, &path, None).await.map(drop)
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Bytes> {
        let mut headers = HeaderMap::new();
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", self.key))
            .context("the API key holds characters that no key has")?;
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let what = format!("{method} {path}");
        let call = Outgoing {
            method,
            uri: format!("{}{path}", self.base_url).parse()?,
            headers,
            body: body.into(),
            deadlines: Deadlines {
                first_byte: ANSWERS_WITHIN,
                idle: ANSWERS_WITHIN,
                total: ANSWERS_WITHIN,
            },
            proxy: None,
            protocol: Protocol::Http1,
        };
        let mut answer = self.client.send(call).await?;
        let status = answer.status;
        let bytes = answer.whole(MAX_ANSWER_BYTES).await?;
        if !status.is_success() {
            let reason = serde_json::from_slice(&bytes).map_or_else(
                |_| "no reason".to_owned(),
                |refusal: Refusal| refusal.error.message,
            );
            bail!("{what}: {status}: {reason}");
        }
        Ok(bytes)
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
