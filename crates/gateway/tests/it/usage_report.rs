//! `GET /v1/usage`: what a customer is shown is what the ledger holds.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use trunkline_gateway::Settings;
use trunkline_ledger::accounts as ledger_accounts;
use trunkline_ledger::{Op, Refund, RefundKind, recovery, run_in};
use trunkline_store::keys::{self, NewKey};
use trunkline_store::{Policy, PolicyFields};
use trunkline_testkit::random_bytes;
use trunkline_types::{KeyId, NodeId, RequestId};

use crate::nodes::nanos;
use crate::test_gateway::{GatewayResponse, TestGateway, account, ask, ask_streaming};

impl TestGateway {
    async fn usage_as(&self, key: &str, query: &str) -> GatewayResponse {
        self.usage_with(key, query, &[]).await
    }

    async fn usage_with(
        &self,
        key: &str,
        query: &str,
        extra: &[(&'static str, &str)],
    ) -> GatewayResponse {
        let path = format!("/v1/usage{query}");
        let sent = self.send_as((self.address, key), Method::GET, &path, Bytes::new(), extra);
        GatewayResponse::read(sent.await).await
    }

    /// A chat call of a key; what it cost, in nano-USD, and its id.
    async fn spend_as(&self, key: &str, model: &str) -> (i64, String) {
        let mut body = ask("Hello [[tokens:6]]");
        body["model"] = model.into();
        let path = "/v1/chat/completions";
        let bytes = Bytes::from(body.to_string());
        let sent = self.send_as((self.address, key), Method::POST, path, bytes, &[]);
        let got = GatewayResponse::read(sent.await).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let cost = got.header("trunkline-cost-usd").expect("a cost");
        (nanos(&Value::from(cost)), got.id())
    }

    /// A key of the harness's account, below another where it is given. Its number and its text.
    async fn key_below(&self, parent: Option<KeyId>, fields: PolicyFields) -> (KeyId, String) {
        let mut tx = self.console.begin().await.unwrap();
        let new = NewKey {
            account: self.account,
            parent,
            name: "key",
            policy: Policy::new(fields).unwrap(),
        };
        let made = keys::create(&mut tx, &new, &random_bytes()).await.unwrap();
        let known = ledger_accounts::register_key(&mut tx, self.account, made.key.id, parent).await;
        assert!(known.unwrap());
        tx.commit().await.unwrap();
        self.gateway.refresh().await.unwrap();
        (made.key.id, made.plain.reveal().to_owned())
    }

    /// Gives back what a call cost.
    async fn give_back(&self, request: &str) {
        let node = NodeId::new("giver").unwrap();
        let (author, _) = recovery::register(&self.data, &node).await.unwrap();
        let refund = Op::Refund(Refund {
            request: request.parse::<RequestId>().unwrap(),
            account: self.account,
            kind: RefundKind::Refund,
            amount: None,
        });
        let mut tx = self.data.begin().await.unwrap();
        run_in(&mut tx, &author, &[&refund]).await.unwrap();
        tx.commit().await.unwrap();
    }
}

/// Sums of the usage rows and refunds of an account, from the tables themselves.
async fn of_ledger(harness: &TestGateway) -> (i64, i64, i64) {
    let account = harness.account.number();
    let query = format!(
        "SELECT count(*)::text FROM ledger.usage WHERE account_id = {account}
         UNION ALL
         SELECT COALESCE(sum(paid + trial), 0)::text FROM ledger.usage WHERE account_id = {account}
         UNION ALL
         SELECT COALESCE(sum(amount), 0)::text FROM ledger.transfer
         WHERE account_id = {account} AND kind = 'refund'"
    );
    let rows = harness.db.ask(&query).await;
    let number = |place: usize| rows[place].parse().unwrap();
    (number(0), number(1), number(2))
}

fn totals(report: &Value) -> (i64, i64, i64) {
    let totals = &report["totals"];
    (
        totals["calls"].as_i64().unwrap(),
        nanos(&totals["charged_usd"]),
        nanos(&totals["refunded_usd"]),
    )
}

/// The fields of a CSV file without quotes in it.
fn rows(text: &str) -> Vec<Vec<&str>> {
    assert!(text.ends_with("\r\n") && !text.contains('"'), "{text:?}");
    let lines = text.trim_end_matches("\r\n").split("\r\n");
    lines.map(|line| line.split(',').collect()).collect()
}

#[tokio::test]
async fn sums_in_json_and_csv_are_those_of_the_ledger_for_every_grouping() {
    let harness = TestGateway::new().await;
    let (child_id, child) = {
        let own = harness.get("/v1/key").await.json()["id"].as_i64().unwrap();
        harness
            .key_below(Some(KeyId::new(own)), PolicyFields::default())
            .await
    };
    let (one, refunded) = harness.spend_as(&harness.key, "sim-fast").await;
    let (two, _) = harness.spend_as(&harness.key, "public-name").await;
    let (three, _) = harness.spend_as(&child, "sim-fast").await;
    harness.posted_at_rest().await;
    harness.give_back(&refunded).await;
    let booked = of_ledger(&harness).await;
    assert_eq!(booked, (3, one + two + three, one));

    for (query, lines) in [
        ("", 1),
        ("?group_by=day", 1),
        ("?group_by=model", 2),
        ("?group_by=key", 2),
        ("?group_by=group,endpoint", 1),
        ("?group_by=day,model,key,group,endpoint", 3),
    ] {
        let report = harness.usage_as(&harness.key, query).await.json();
        assert_eq!(totals(&report), booked, "{query}: {report}");
        let data = report["data"].as_array().unwrap();
        assert_eq!(data.len(), lines, "{query}: {report}");
        let charged: i64 = data.iter().map(|line| nanos(&line["charged_usd"])).sum();
        assert_eq!(charged, booked.1, "{query}");
        assert_eq!(report["timezone"], "UTC");

        let joint = if query.is_empty() { "?" } else { "&" };
        let file = harness
            .usage_as(&harness.key, &format!("{query}{joint}format=csv"))
            .await;
        assert_eq!(
            file.header("content-type").as_deref(),
            Some("text/csv; charset=utf-8")
        );
        let text = file.text();
        let rows = rows(&text);
        assert_eq!(rows.len(), lines + 1, "{text}");
        let of = |name: &str| rows[0].iter().position(|head| *head == name).unwrap();
        let sum = |name: &str| -> i64 {
            let place = of(name);
            rows[1..].iter().map(|row| nanos(&row[place].into())).sum()
        };
        assert_eq!(
            (sum("charged_usd"), sum("refunded_usd")),
            (booked.1, booked.2)
        );
    }
    let by_key = harness
        .usage_as(&harness.key, "?group_by=key&model=sim-fast")
        .await
        .json();
    let line = by_key["data"].as_array().unwrap().iter();
    let line = line.clone().find(|line| line["key"] == child_id.number());
    assert_eq!(nanos(&line.unwrap()["charged_usd"]), three);
    harness.audit().await;
}

#[tokio::test]
async fn a_key_sees_its_own_and_its_descendants_usage_only() {
    let harness = TestGateway::new().await;
    let (parent_id, parent) = harness.key_below(None, PolicyFields::default()).await;
    let (child_id, child) = harness
        .key_below(Some(parent_id), PolicyFields::default())
        .await;
    let (_, grandchild) = harness
        .key_below(Some(child_id), PolicyFields::default())
        .await;
    let stranger = account(&harness.console, 10_000_000_000, 0).await;
    let foreign = harness.key_of(stranger, PolicyFields::default()).await;
    let mut costs = Vec::new();
    for key in [&parent, &child, &grandchild, &foreign] {
        costs.push(harness.spend_as(key, "sim-fast").await.0);
    }
    harness.posted_at_rest().await;
    let seen = async |key: &str, query: &str| {
        let report = harness.usage_as(key, query).await.json();
        let single = harness
            .usage_as(key, &format!("{query}&detail=calls"))
            .await;
        let calls = single.text().lines().count();
        let (sums, charged, _) = totals(&report);
        assert_eq!(i64::try_from(calls).unwrap(), sums, "{query}");
        charged
    };
    let all = costs[0] + costs[1] + costs[2];
    assert_eq!(seen(&parent, "?limit=9").await, all, "the account's");
    assert_eq!(seen(&harness.key, "?limit=9").await, all, "another of it");
    assert_eq!(seen(&child, "?limit=9").await, costs[1] + costs[2]);
    assert_eq!(seen(&grandchild, "?limit=9").await, costs[2]);
    assert_eq!(seen(&foreign, "?limit=9").await, costs[3]);
    let of_parent = format!("?key={parent_id}");
    assert_eq!(seen(&harness.key, &of_parent).await, costs[0]);
    assert_eq!(seen(&child, &of_parent).await, 0, "its parent's is hidden");
    assert_eq!(seen(&foreign, &of_parent).await, 0);
    assert_eq!(seen(&harness.key, "?model=public-name").await, 0);

    let closed = PolicyFields {
        endpoints: Some(vec!["chat".to_owned()]),
        ..PolicyFields::default()
    };
    let (_, closed) = harness.key_below(None, closed).await;
    let got = harness.usage_as(&closed, "").await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (403, "endpoint_not_allowed")
    );
    let open = PolicyFields {
        endpoints: Some(vec!["usage".to_owned()]),
        ..PolicyFields::default()
    };
    let (_, open) = harness.key_below(None, open).await;
    assert_eq!(harness.usage_as(&open, "").await.status, 200);
}

#[tokio::test]
async fn pages_of_sums_and_calls_follow_each_other_without_gap_or_repeat() {
    let harness = TestGateway::new().await;
    let mut made = Vec::new();
    for model in ["sim-fast", "public-name", "sim-reason", "sim-fast"] {
        made.push(harness.spend_as(&harness.key, model).await.1);
    }
    harness.posted_at_rest().await;
    let mut models = Vec::new();
    let mut after = String::new();
    loop {
        let query = format!("?group_by=model&limit=1{after}");
        let page = harness.usage_as(&harness.key, &query).await.json();
        assert_eq!(page["totals"]["calls"], 4, "of all pages");
        models.push(page["data"][0]["model"].as_str().unwrap().to_owned());
        let Some(next) = page["next"].as_str() else {
            assert_eq!(page["has_more"], false);
            break;
        };
        after = format!("&after={next}");
    }
    assert_eq!(models, ["public-name", "sim-fast", "sim-reason"]);

    let mut ids: Vec<String> = Vec::new();
    loop {
        let after = ids
            .last()
            .map_or(String::new(), |id| format!("&after={id}"));
        let query = format!("?detail=calls&limit=3{after}");
        let got = harness.usage_as(&harness.key, &query).await;
        assert_eq!(
            got.header("content-type").as_deref(),
            Some("application/x-ndjson")
        );
        let text = got.text();
        let page: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let few = page.len() < 3;
        for call in page {
            assert_eq!(call["units"]["output"], 6, "{call}");
            ids.push(call["request_id"].as_str().unwrap().to_owned());
        }
        if few {
            break;
        }
    }
    made.reverse();
    assert_eq!(ids, made, "newest first");
    let file = harness
        .usage_as(&harness.key, "?detail=calls&format=csv")
        .await
        .text();
    assert!(file.starts_with("request_id,opened_at,"), "{file}");
    assert_eq!(file.lines().count(), 5);
    // Units are JSON inside a field, and so in quotes.
    assert!(file.contains("\"{\"\"input\"\":"), "{file}");
}

#[tokio::test]
async fn what_is_asked_for_wrongly_is_named_and_costs_nothing() {
    let harness = TestGateway::new().await;
    for (query, param) in [
        ("?from=2026-11-31", "from"),
        ("?from=2026-11-02&to=2026-11-01", "from"),
        ("?from=2025-01-01&to=2026-11-01", "from"),
        ("?group_by=week", "group_by"),
        ("?days=3", "days"),
        ("?limit=0", "limit"),
    ] {
        let got = harness.usage_as(&harness.key, query).await;
        let body = got.json();
        assert_eq!(got.status, 400, "{query}: {body}");
        assert_eq!(body["error"]["param"], param, "{query}");
    }
    let most = harness
        .usage_as(&harness.key, "?from=2025-09-28&to=2026-11-01")
        .await;
    assert_eq!(most.status, 200, "400 days");
    let body = most.json();
    assert_eq!(
        (&body["from"], &body["to"], &body["data"]),
        (&json!("2025-09-28"), &json!("2026-11-01"), &json!([]))
    );
    let accept = [("accept", "text/csv")];
    let file = harness.usage_with(&harness.key, "", &accept).await.text();
    assert_eq!(
        file,
        "day,calls,failed_calls,input_units,output_units,call_units,second_units,charged_usd,paid_usd,trial_usd,refunded_usd\r\n"
    );
    let wrong = harness
        .usage_with("sk-tl-nobody", "?key=sk-tl-nobody", &[])
        .await;
    assert_eq!(wrong.status, 401);
    assert!(!wrong.text().contains("sk-tl-nobody"));
    for (method, path) in [
        (Method::HEAD, "/v1/usage"),
        (Method::HEAD, "/v1/usage?format=csv"),
        (Method::HEAD, "/v1/usage?detail=calls"),
    ] {
        let got = GatewayResponse::read(harness.send(method, path, Bytes::new()).await).await;
        assert_eq!(
            (got.status.as_u16(), got.text().as_str()),
            (200, ""),
            "{path}"
        );
    }
}

// covers: D-1-42
#[tokio::test]
async fn after_a_stream_only_its_account_can_read_cost_and_warnings() {
    let harness = TestGateway::with(Settings::default(), 0, 1_000_000).await;
    let mut body = ask_streaming("Hello [[tokens:5]]");
    body["reasoning_effort"] = "low".into();
    let call = harness.chat(&body).await;
    assert_eq!(call.status, 200, "{}", call.text());
    harness.posted_at_rest().await;
    let (_, charged, _, _) = harness.usage(&call.id()).await;
    assert!(charged > 0);
    let path = format!("/v1/usage/{}", call.id());
    let reported = harness.get(&path).await.json();
    assert_eq!(nanos(&reported["cost_usd"]), charged);
    let warnings = reported["warnings"].as_array().unwrap();
    assert!(
        warnings.contains(&json!("reasoning_effort_ignored")),
        "{warnings:?}"
    );
    let stranger = harness.make_account_key().await;
    let got = harness.send_as(
        (harness.address, &stranger),
        Method::GET,
        &path,
        Bytes::new(),
        &[],
    );
    assert_eq!(GatewayResponse::read(got.await).await.status, 404);
}

#[tokio::test]
async fn a_file_of_many_lines_comes_whole_and_one_of_too_many_is_refused() {
    let harness = TestGateway::new().await;
    let fill = async |first: i64, last: i64| {
        let account = harness.account.number();
        let query = format!(
            "WITH filled AS (
                 INSERT INTO ledger.usage_day (account_id, day, key_id, model, endpoint, group_name, calls, paid)
                 SELECT {account}, (app.now() AT TIME ZONE 'UTC')::date - (n % 300)::integer, 0,
                     CASE WHEN n = 7 THEN '=cmd|''x''!A1' ELSE 'm' || n END, 'chat', 'default', 1, 1000000000
                 FROM generate_series({first}, {last}) AS n
                 RETURNING 1)
             SELECT count(*)::text FROM filled"
        );
        let filled = harness.db.ask(&query).await;
        assert_eq!(filled, [(last - first + 1).to_string()]);
    };
    fill(1, 12_000).await;
    let today = harness.usage_as(&harness.key, "").await.json()["to"].clone();
    let today = trunkline_ledger::usage_report::UtcDay::parse(today.as_str().unwrap()).unwrap();
    let query = format!(
        "?from={}&to={today}&group_by=day,model&format=csv",
        today.earlier(399)
    );
    let text = harness.usage_as(&harness.key, &query).await.text();
    let rows = rows(&text);
    assert_eq!(rows.len(), 12_001);
    let mut names: Vec<&str> = rows[1..].iter().map(|row| row[1]).collect();
    assert!(names.contains(&"'=cmd|'x'!A1"), "no spreadsheet runs it");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 12_000, "each once");
    fill(12_001, 100_001).await;
    let got = harness.usage_as(&harness.key, &query).await;
    assert_eq!(got.status, 400);
    assert!(got.text().contains("100000 at most"), "{}", got.text());
}
