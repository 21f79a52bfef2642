//! The numbers on the admin listener: that a scraper can read them, and that they move.

use std::collections::{BTreeMap, BTreeSet};

use trunkline_simulator::{Fault, Rule, Simulator};

use crate::collector::Collector;
use crate::test_gateway::{CANARY, TestGateway, TestOptions, ask, ask_streaming};

/// Samples by their name with labels, read as strictly as the format is written down.
fn parse(page: &str) -> BTreeMap<String, f64> {
    let mut kinds: BTreeMap<String, String> = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut samples = BTreeMap::new();
    assert!(page.ends_with('\n'), "the last line ends, too");
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(helped.insert(name.to_owned()) && !help.is_empty(), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(helped.contains(name), "{line}");
            let twice = kinds.insert(name.to_owned(), kind.to_owned());
            assert!(twice.is_none(), "{line}");
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
            assert!(
                name.starts_with("trunkline_") && name.chars().all(legal),
                "{line}"
            );
            let parts = ["_bucket", "_sum", "_count"];
            let family = parts
                .iter()
                .find_map(|part| name.strip_suffix(part))
                .filter(|family| kinds.get(*family).is_some_and(|kind| kind == "histogram"));
            let kind = kinds.get(family.unwrap_or(name)).unwrap();
            assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            if let Some(labels) = series.strip_prefix(name).filter(|text| !text.is_empty()) {
                let inside = labels
                    .strip_prefix('{')
                    .unwrap()
                    .strip_suffix("\"}")
                    .unwrap();
                for pair in inside.split("\",") {
                    let (label, _) = pair.split_once("=\"").unwrap();
                    let known = [
                        "channel",
                        "class",
                        "fault",
                        "job",
                        "kind",
                        "le",
                        "mode",
                        "model",
                        "operation",
                        "outcome",
                        "reason",
                        "result",
                        "side",
                        "state",
                        "stream",
                        "version",
                    ];
                    assert!(known.contains(&label), "a label of its own: {line}");
                }
            }
            let twice = samples.insert(series.to_owned(), value.parse().unwrap());
            assert!(twice.is_none(), "{line}");
        }
    }
    let families: BTreeSet<String> = kinds.into_keys().collect();
    assert_eq!(helped, families);
    samples
}

/// Every histogram rises from bucket to bucket, and all of them are the last.
fn check_histograms(samples: &BTreeMap<String, f64>) -> usize {
    let mut seen = 0;
    for (series, count) in samples {
        let Some((name, label)) = series.split_once("_count{") else {
            continue;
        };
        let label = label.strip_suffix('}').unwrap();
        let prefix = format!("{name}_bucket{{{label},le=\"");
        let buckets = samples.iter().filter_map(|(series, value)| {
            let bound = series.strip_prefix(&prefix)?.strip_suffix("\"}")?;
            Some((bound.parse::<f64>().unwrap(), *value))
        });
        let mut buckets: Vec<(f64, f64)> = buckets.collect();
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert!(
            buckets.windows(2).all(|two| two[0].1 <= two[1].1),
            "{series}"
        );
        let (bound, all) = buckets.pop().unwrap();
        assert!(bound.is_infinite() && all == *count, "{series}");
        assert!(samples.contains_key(&format!("{name}_sum{{{label}}}")));
        seen += 1;
    }
    seen
}

#[tokio::test]
async fn the_numbers_can_be_read_by_a_scraper_and_move_with_every_call() {
    let collector = Collector::start().await;
    let harness = TestGateway::build(TestOptions {
        traces: Some((collector.url.clone(), 1_000)),
        ..TestOptions::default()
    })
    .await;
    let broken = Simulator::start(Default::default()).await.unwrap();
    for (fault, times) in [(Fault::Status(503), 1), (Fault::Status(401), 1)] {
        broken.plan(Rule {
            fault,
            times: Some(times),
            model: None,
            key: None,
            one_in: 1,
        });
    }
    let models = [("sim-fast", "sim-fast")];
    harness
        .channel("broken", &broken.base_url(), 0, &models)
        .await;
    let before = parse(&harness.metrics().await);
    assert_eq!(before["trunkline_ready"], 1.0);
    assert_eq!(
        before["trunkline_credentials{channel=\"broken\",state=\"usable\"}"],
        1.0
    );
    for tokens in [5, 7] {
        let got = harness.chat(&ask(&format!("Hi [[tokens:{tokens}]]"))).await;
        assert_eq!(got.status, 200);
    }
    let streamed = harness.chat(&ask_streaming("Hi [[tokens:9]]")).await;
    assert_eq!(streamed.status, 200);
    let mut unknown = ask("Hi");
    unknown["model"] = "made-up-by-a-caller".into();
    assert_eq!(harness.chat(&unknown).await.status, 404);
    let mut hot = ask("Hi");
    hot["temperature"] = 9.into();
    assert_eq!(harness.chat(&hot).await.status, 400);
    let posted = harness.posted_at_rest().await;
    let page = harness.metrics().await;
    let after = parse(&page);
    assert!(check_histograms(&after) >= 4);
    let moved = |name: &str| after[name] - before.get(name).unwrap_or(&0.0);
    let calls = |outcome: &str| {
        moved(&format!(
            "trunkline_calls_total{{model=\"sim-fast\",outcome=\"{outcome}\"}}"
        ))
    };
    assert_eq!((calls("complete"), calls("refused")), (3.0, 1.0));
    assert_eq!(moved("trunkline_calls_charged_total"), 3.0);
    assert_eq!(moved("trunkline_calls_free_total"), 1.0);
    let charged = 10_000_000_000 - posted;
    assert_eq!(moved("trunkline_charged_nano_usd_total"), charged as f64);
    let output = "trunkline_tokens_total{model=\"sim-fast\",side=\"output\"}";
    assert_eq!(moved(output), 21.0);
    for fault in ["model_not_found", "upstream_refused"] {
        assert_eq!(
            moved(&format!("trunkline_faults_total{{fault=\"{fault}\"}}")),
            1.0
        );
    }
    let attempts = |channel: &str, result: &str| {
        let labels = format!("channel=\"{channel}\",result=\"{result}\"");
        moved(&format!("trunkline_attempts_total{{{labels}}}"))
    };
    assert_eq!(attempts("broken", "failed"), 1.0);
    assert_eq!(attempts("broken", "credential_refused"), 1.0);
    assert_eq!(attempts("first", "answered"), 3.0);
    assert_eq!(attempts("first", "refused"), 1.0);
    assert_eq!(
        after["trunkline_credentials{channel=\"broken\",state=\"cooling_down\"}"],
        1.0
    );
    assert_eq!(
        after["trunkline_channel_left_alone{channel=\"broken\"}"],
        0.0
    );
    assert_eq!(after["trunkline_channel_faults{channel=\"broken\"}"], 1.0);
    assert_eq!(
        moved("trunkline_first_byte_seconds_count{stream=\"false\"}"),
        2.0
    );
    assert_eq!(
        moved("trunkline_first_byte_seconds_count{stream=\"true\"}"),
        1.0
    );
    assert_eq!(moved("trunkline_call_seconds_count{stream=\"false\"}"), 3.0);
    assert!(after["trunkline_call_seconds_sum{stream=\"true\"}"] > 0.0);
    assert_eq!(
        after["trunkline_upstream_head_seconds_count{channel=\"first\"}"],
        4.0
    );
    for gauge in ["calls_in_flight", "holds_open", "buffered_bytes"] {
        assert_eq!(after[&format!("trunkline_{gauge}")], 0.0, "{gauge}");
    }
    assert!(moved("trunkline_ledger_operations_total") >= 8.0);
    assert!(after["trunkline_database_connections_max"] >= 1.0);
    assert!(after.contains_key("trunkline_spans_exported_total"));
    for never in ["made-up-by-a-caller", CANARY, &harness.key] {
        assert!(!page.contains(never), "{never}");
    }
    broken.stop().await;
}

#[tokio::test]
async fn metrics_show_a_failing_channel_as_skipped_and_a_limit_as_cool_down() {
    let harness = TestGateway::new().await;
    for (fault, times) in [
        (Fault::Status(500), 5),
        (
            Fault::RateLimited {
                retry_after_secs: 60,
            },
            1,
        ),
    ] {
        harness.simulator.plan(Rule {
            fault,
            times: Some(times),
            model: None,
            key: None,
            one_in: 1,
        });
    }
    for _ in 0..5 {
        assert_eq!(harness.chat(&ask("Hi")).await.status, 502);
    }
    let page = parse(&harness.metrics().await);
    assert_eq!(page["trunkline_channel_left_alone{channel=\"first\"}"], 1.0);
    assert_eq!(page["trunkline_channel_faults{channel=\"first\"}"], 5.0);
    let mut other = ask("Hi");
    other["model"] = "public-name".into();
    assert_eq!(harness.chat(&other).await.status, 429);
    let page = parse(&harness.metrics().await);
    let cooling_down = "trunkline_credentials{channel=\"renamed\",state=\"cooling_down\"}";
    assert_eq!(page[cooling_down], 1.0);
}

#[tokio::test]
async fn metrics_are_on_the_admin_listener_and_nowhere_else() {
    let harness = TestGateway::new().await;
    assert_eq!(harness.get("/metrics").await.status, 404);
    assert!(harness.metrics().await.contains("trunkline_ready 1"));
}
