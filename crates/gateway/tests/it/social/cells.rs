//! Every cell, generated: a good call, each missing parameter, an unknown, a repeated, an over-long and
//! a wrongly typed one, each group without a member, an empty answer and a failing source.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};
use trunkline_ledger::usage;
use trunkline_social::{Cell, Kind};
use trunkline_types::{Money, RequestId};

use crate::response::GatewayResponse;
use crate::social::harness::{cells, escaped, example, needed, pair, price, query};
use crate::test_gateway::TestGateway;

/// Calls that were made, by what they were made for.
type Counts = BTreeMap<&'static str, usize>;

struct Walk<'a> {
    harness: &'a TestGateway,
    counts: Counts,
    charged: i64,
    wrong: Vec<String>,
}

impl Walk<'_> {
    async fn call(&mut self, cell: &Cell, what: &'static str, query: &str) -> GatewayResponse {
        *self.counts.entry(what).or_default() += 1;
        self.harness.look(&pair(cell), query).await
    }

    /// A refusal before anything is asked of the source, and for nothing.
    async fn refused(&mut self, cell: &Cell, what: &'static str, query: &str, code: &str) {
        let calls = self.harness.vendor_calls().len();
        let got = self.call(cell, what, query).await;
        let name = format!("{} {what} {query:.80}", cell.model);
        assert_eq!(
            got.status,
            StatusCode::BAD_REQUEST,
            "{name}: {}",
            got.text()
        );
        let error = &got.json()["error"];
        assert_eq!(error["code"], json!(code), "{name}");
        assert_eq!(error["charged"], json!(false), "{name}");
        for key in [
            "message",
            "type",
            "param",
            "request_id",
            "retryable",
            "doc_url",
        ] {
            assert!(error.get(key).is_some(), "{name}: {key}");
        }
        assert_eq!(self.harness.vendor_calls().len(), calls, "{name}");
    }

    async fn good(&mut self, cell: &Cell, query: &str) {
        let before = self.harness.vendor_calls().len();
        let got = self.call(cell, "good", query).await;
        let name = &cell.model;
        if got.status != StatusCode::OK {
            println!("{name}: {}", got.text());
            return self.wrong.push(name.clone());
        }
        assert_eq!(got.status, StatusCode::OK, "{name}: {}", got.text());
        let body = got.json();
        assert_eq!(body["object"], json!("social.result"), "{name}");
        assert_eq!(body["platform"], json!(cell.platform.key), "{name}");
        assert_eq!(
            body["capability"],
            json!(cell.capability.as_str()),
            "{name}"
        );
        assert!(body["data"].is_object(), "{name}");
        assert_eq!(body.as_object().unwrap().len(), 4, "{name}");
        let cost = price(cell);
        assert_eq!(
            got.header("trunkline-cost-usd"),
            Some(cost.to_string()),
            "{name}"
        );
        let request: RequestId = got.id().parse().unwrap();
        let row = usage::find(&self.harness.data, self.harness.account, request).await;
        let row = row.unwrap().unwrap();
        assert_eq!(row.model, *name);
        assert_eq!(row.endpoint, "social");
        assert_eq!((row.paid, row.trial), (cost, Money::ZERO), "{name}");
        // What the source asks is the cost, so the margin of every call is known.
        assert_eq!(row.cost, Some(cell.cost.usd), "{name}");
        self.charged += cost.nanos();
        let calls = self.harness.vendor_calls();
        assert_eq!(calls.len(), before + 1, "{name}: one question");
        let reported = calls.last().unwrap();
        assert_eq!(reported.path, cell.source_path(), "{name}");
        assert!(reported.is_billed, "{name}");
    }

    async fn mistakes(&mut self, cell: &Cell) {
        let names = needed(cell);
        let whole = query(cell, &names);
        let with = |more: String| match whole.as_str() {
            "" => more,
            whole => format!("{whole}&{more}"),
        };
        for param in cell.params.iter().filter(|param| param.required) {
            let others: Vec<String> = names
                .iter()
                .filter(|name| **name != param.name)
                .cloned()
                .collect();
            let rest = query(cell, &others);
            self.refused(cell, "missing", &rest, "missing_parameter")
                .await;
            let empty = format!("{rest}&{}=", param.name);
            self.refused(cell, "empty", &empty, "missing_parameter")
                .await;
        }
        for group in &cell.require_one_of {
            let others: Vec<String> = names
                .iter()
                .filter(|name| !group.contains(name))
                .cloned()
                .collect();
            let rest = query(cell, &others);
            self.refused(cell, "group", &rest, "missing_parameter")
                .await;
        }
        self.refused(
            cell,
            "unknown",
            &with("colour=red".to_owned()),
            "unknown_parameter",
        )
        .await;
        self.refused(
            cell,
            "cookie",
            &with("cookie=a".to_owned()),
            "unknown_parameter",
        )
        .await;
        for param in &cell.params {
            let own = example(cell, &param.name);
            let others: Vec<String> = names
                .iter()
                .filter(|name| **name != param.name)
                .cloned()
                .collect();
            let rest = query(cell, &others);
            let twice = format!("{rest}&{own}&{own}");
            self.refused(cell, "repeated", &twice, "repeated_parameter")
                .await;
            let long = format!("{rest}&{}={}", param.name, "1".repeat(2_049));
            self.refused(cell, "long", &long, "parameter_too_long")
                .await;
            let wrong = match &param.kind {
                Kind::Text => continue,
                Kind::Integer => "ten",
                Kind::Boolean => "yes",
                Kind::IntegerOrWord(_) => "newest",
            };
            let wrong = format!("{rest}&{}={wrong}", param.name);
            self.refused(cell, "type", &wrong, "invalid_parameter_type")
                .await;
        }
    }

    /// Each member of a group is enough, and all of them are allowed.
    async fn groups(&mut self, cell: &Cell) {
        for group in &cell.require_one_of {
            let others: Vec<String> = needed(cell)
                .into_iter()
                .filter(|name| !group.contains(name))
                .collect();
            let each = group.iter().map(|name| vec![name.clone()]);
            for members in each.chain([group.clone()]) {
                let names: Vec<String> = others.iter().cloned().chain(members).collect();
                let mut query_text = query(cell, &names);
                // A token is one that a page before has given.
                if let Some(place) = query_text.find("continuation_token=") {
                    let rest = query(cell, &needed(cell));
                    let (pages, rest) = (
                        format!("{}/pages", pair(cell)),
                        format!("{rest}&max_pages=1"),
                    );
                    let page = self.harness.look(&pages, &rest).await.text();
                    let end: Value = serde_json::from_str(page.lines().last().unwrap()).unwrap();
                    self.charged += price(cell).nanos();
                    *self.counts.entry("members").or_default() += 1;
                    let token = end["next"]["continuation_token"].as_str().unwrap();
                    query_text.truncate(place);
                    query_text.push_str(&format!("continuation_token={}", escaped(token)));
                }
                let got = self.call(cell, "members", &query_text).await;
                if got.status == StatusCode::OK {
                    self.charged += price(cell).nanos();
                } else {
                    println!("{} members {query_text}: {}", cell.model, got.text());
                    self.wrong.push(cell.model.clone());
                }
            }
        }
    }
}

/// A query whose first text wishes something of the source; none where there is no text.
fn wishing(cell: &Cell, case: &str) -> Option<String> {
    let names = needed(cell);
    let text = |name: &String| {
        cell.param(name)
            .is_some_and(|param| param.kind == Kind::Text)
    };
    let place = names.iter().position(text)?;
    let pairs: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(at, name)| match at == place {
            true => format!("{name}={}", escaped(&format!("[[social:{case}]]"))),
            false => example(cell, name),
        })
        .collect();
    Some(pairs.join("&"))
}

// covers: S-1-01, S-1-03, S-1-07, S-1-08, S-2.1-01, S-2.1-02, S-2.1-03, S-2.1-04, S-2.1-05, S-3-04
// covers: S-4-01, S-4.1-09, S-4.1-10, S-4.1-11, S-4.1-12, S-4.1-13, S-4.1-14, S-4.1-15, S-4.1-16, S-4.1-17
// covers: S-4.1-18, S-4.1-21, S-4.1-23, S-7-01, S-7-02, S-7-03, S-7-04, S-7-05, S-7-06, S-9-01
// covers: D-3-59, D-3-60, D-3-61, D-3-62, D-7-SOC-10, D-7-SOC-11, D-7-SOC-42
// covers: S-4.2-P01-01, S-4.2-P01-07, S-4.2-P01-08, S-4.2-P01-09, S-4.2-P01-10, S-4.2-P01-11
// covers: S-4.2-P02-01, S-4.2-P02-07, S-4.2-P02-09, S-4.2-P02-10, S-4.2-P02-15, S-4.2-P03-01
// covers: S-4.2-P03-03, S-4.2-P03-05, S-4.2-P03-06, S-4.2-P03-07, S-4.2-P03-09, S-4.2-P04-01
// covers: S-4.2-P04-04, S-4.2-P04-05, S-4.2-P04-06, S-4.2-P04-07, S-4.2-P04-10, S-4.2-P05-01
// covers: S-4.2-P05-03, S-4.2-P05-04, S-4.2-P05-05, S-4.2-P05-07, S-4.2-P05-09, S-4.2-P06-01
// covers: S-4.2-P06-02, S-4.2-P06-03, S-4.2-P06-04, S-4.2-P06-05, S-4.2-P07-01, S-4.2-P07-08
// covers: S-4.2-P07-12, S-4.2-P07-14, S-4.2-P07-17, S-4.2-P08-01, S-4.2-P08-06, S-4.2-P08-08
// covers: S-4.2-P08-10, S-4.2-P08-13, S-4.2-P09-01, S-4.2-P10-01, S-4.2-P10-02, S-4.2-P10-03
// covers: S-4.2-P11-01, S-4.2-P11-02, S-4.2-P11-03, S-4.2-P11-04, S-4.2-P11-05, S-4.2-P12-01
// covers: S-4.2-P12-02, S-4.2-P12-03, S-4.2-P12-04, S-4.2-P12-05, S-4.2-P12-06, S-4.2-P13-01
// covers: S-4.2-P13-03, S-4.2-P13-05, S-4.2-P13-06, S-4.2-P13-07, S-4.2-P13-10, S-4.2-P14-01
// covers: S-4.2-P14-02, S-4.2-P14-03, S-4.2-P14-04, S-4.2-P14-06, S-4.2-P14-07, S-4.2-P15-01
// covers: S-4.2-P15-05, S-4.2-P15-08, S-4.2-P15-09, S-4.2-P15-10, S-4.2-P16-01, S-4.2-P16-02
// covers: S-4.2-P16-03, S-4.2-P16-04, S-4.2-P16-05, S-4.2-P16-06, S-4.2-P17-01, S-4.2-P17-02
// covers: S-4.2-P17-03, S-4.2-P17-04, S-4.2-P17-05, S-4.2-P17-06, S-4.2-P18-01, S-4.2-P18-02
// covers: S-4.2-P18-03, S-4.2-P18-04, S-4.2-P19-01, S-4.2-P19-02, S-4.2-P19-03, S-4.2-P19-04
// covers: S-4.2-P20-01, S-4.2-P20-02, S-4.2-P20-03, S-4.2-P20-04, S-4.2-P20-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_cell_takes_a_good_call_and_refuses_every_mistake() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let mut walk = Walk {
        harness: &harness,
        counts: Counts::new(),
        charged: 0,
        wrong: Vec::new(),
    };
    let mut count = 0;
    for cell in cells().all() {
        walk.good(cell, &query(cell, &needed(cell))).await;
        walk.mistakes(cell).await;
        walk.groups(cell).await;
        count += 1;
    }
    println!("{count} cells: {:?}", walk.counts);
    assert!(walk.wrong.is_empty(), "{:?}", walk.wrong);
    assert_eq!(count, cells().all().count());
    assert!(count >= 101, "{count}");
    let charged = walk.charged;
    assert_eq!(harness.posted_at_rest().await, before - charged);
    // The source was asked once for each charge, and what it billed is what the calls cost.
    assert_eq!(
        harness
            .vendor_calls()
            .iter()
            .filter(|call| call.is_billed)
            .count(),
        walk.counts["good"] + walk.counts["members"]
    );
    harness.audit().await;
}

// covers: S-4.1-20, S-4.1-22, S-7-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_answer_and_a_failing_source_cost_nothing_in_any_cell() {
    let harness = TestGateway::of_social().await;
    let before = harness.posted_at_rest().await;
    let mut counts = Counts::new();
    let mut wrong = Vec::new();
    for cell in cells().all() {
        for (case, status, code) in [
            ("empty", 404, "social_data_no_result"),
            ("500", 502, "upstream_error"),
        ] {
            let Some(query) = wishing(cell, case) else {
                *counts.entry("without a text").or_default() += 1;
                let plan =
                    json!({ "fault": { "social": case }, "model": cell.source_path(), "times": 1 });
                harness
                    .simulator
                    .plan(serde_json::from_value(plan).unwrap());
                let got = harness.look(&pair(cell), "").await;
                assert_ne!(got.status, 200, "{} {case}", cell.model);
                assert_eq!(
                    (got.status.as_u16(), got.code().as_str()),
                    (status, code),
                    "{}",
                    cell.model
                );
                continue;
            };
            *counts.entry("wished").or_default() += 1;
            let got = harness.look(&pair(cell), &query).await;
            if got.status == 200 {
                println!("{} {case}: {}", cell.model, got.text());
                wrong.push(cell.model.clone());
                continue;
            }
            let name = format!("{} {case}: {}", cell.model, got.text());
            assert_eq!(
                (got.status.as_u16(), got.code().as_str()),
                (status, code),
                "{name}"
            );
            let error = &got.json()["error"];
            assert_eq!(error["charged"], Value::Bool(false), "{name}");
            let (_, charged, _, _) = harness.usage(&got.id()).await;
            assert_eq!(charged, 0, "{name}");
        }
    }
    println!("{counts:?}");
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(counts.values().sum::<usize>(), 2 * cells().all().count());
    assert_eq!(harness.posted_at_rest().await, before);
    harness.audit().await;
}
