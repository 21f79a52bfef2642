//! Lines of the decisions that need the clock, the wallets or a platform: what is kept and for how long, which prices an
//! account has, which values are confirmed.

use std::time::Duration;

use serde_json::json;
use trunkline_gateway::Settings;
use trunkline_ledger::{chain, partitions, usage_report};
use trunkline_store::tasks;

use crate::test_gateway::{TestGateway, ask};
use crate::videos::{cat, column, ended, generation, made, quick};

/// How long the prompts of tasks are kept, in seconds.
const WEEK: i64 = 7 * 86_400;

// covers: D-5-17
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_prompt_of_a_task_is_gone_a_week_after_its_verdict_and_not_before() {
    let harness = generation(quick()).await;
    let waiting = made(&harness, &cat("[[id:w]][[job:full:1000]]")).await;
    let over = made(&harness, &cat("")).await;
    ended(&harness, &over).await;
    let kept = Duration::from_secs(7 * 86_400);
    let purge = async || {
        let mut session = harness.data.session().await.unwrap();
        tasks::purge_sent(&mut session, kept, 100).await.unwrap()
    };
    harness.db.shift_clock(WEEK - 60).await;
    assert_eq!(purge().await, 0);
    assert_eq!(column(&harness, &over, "sent IS NOT NULL").await, "true");
    harness.db.shift_clock(120).await;
    assert_eq!(purge().await, 1, "the one that has ended");
    assert_eq!(column(&harness, &over, "sent IS NULL").await, "true");
    assert_eq!(column(&harness, &waiting, "sent IS NOT NULL").await, "true");
}

// covers: D-5-14
#[tokio::test]
async fn a_call_is_in_the_usage_log_for_400_days_and_then_its_partition_is_dropped() {
    const DAY: i64 = 86_400;
    let harness = TestGateway::new().await;
    let got = harness.chat(&ask("Hello [[tokens:10]]")).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let left = harness.posted_at_rest().await;
    let path = format!("/v1/usage/{}", got.id());
    let partition = "SELECT count(*)::text FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'ledger.usage'::regclass
             AND to_date(right(c.relname, 8), 'YYYYMMDD') < (app.now() AT TIME ZONE 'UTC')::date - 400";
    let days = partitions::USAGE_DAYS_KEPT;
    assert_eq!(days, 400);
    usage_report::sum_up(&harness.data).await.unwrap();
    chain::link(&harness.data).await.unwrap();
    harness.db.shift_clock(400 * DAY).await;
    partitions::ensure(&harness.data).await.unwrap();
    partitions::drop_usage(&harness.data, days).await.unwrap();
    assert_eq!(harness.get(&path).await.status, 200, "400 days later");
    harness.db.shift_clock(DAY).await;
    assert_ne!(harness.db.ask(partition).await, ["0"]);
    partitions::drop_usage(&harness.data, days).await.unwrap();
    assert_eq!(harness.db.ask(partition).await, ["0"]);
    assert_eq!(harness.get(&path).await.status, 404, "a day later");
    partitions::ensure(&harness.data).await.unwrap();
    assert_eq!(harness.posted_at_rest().await, left, "the accounting stays");
    harness.audit_but_for_the_clock().await;
}

// covers: D-7-MON-05
#[tokio::test]
async fn an_account_that_topped_up_pays_the_paid_faces_with_trial_money_too() {
    let record = "[models.two-prices]\ngroups = [\"default\"]\n[models.two-prices.prices]\n\
        billing_unit = \"tokens\"\nstandard = { input = 2000000, output = 8000000 }\n\
        paid = { input = 1000000, output = 4000000 }\n";
    let mut body = ask("Hello [[tokens:10]]");
    body["model"] = json!("two-prices");
    body["max_tokens"] = json!(50);
    // Trial money alone, trial money beside one paid nano-USD, paid money alone.
    for (paid, trial, halves) in [
        (0, 1_000_000_000, 2),
        (1, 1_000_000_000, 1),
        (1_000_000_000, 0, 1),
    ] {
        let harness = TestGateway::with(Settings::default(), paid, trial).await;
        harness.sell(record).await;
        let base = harness.simulator.base_url();
        harness
            .channel("two", &base, 1, &[("two-prices", "sim-fast")])
            .await;
        let got = harness.chat(&body).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let (input, output) = harness.simulator.requests()[0].told_usage.unwrap();
        let due = i64::try_from(input * 1_000 + output * 4_000).unwrap() * halves;
        assert_eq!(harness.usage(&got.id()).await.1, due, "{paid} {trial}");
        let [paid_left, _, trial_left, _] = harness.wallets().await;
        let from_trial = trial - trial_left;
        assert_eq!(paid - paid_left + from_trial, due);
        assert_eq!(
            from_trial,
            if trial > 0 { due } else { 0 },
            "trial money goes first"
        );
        harness.audit().await;
    }
}

// covers: D-4-73, D-4-74
#[tokio::test]
async fn any_business_type_of_32_characters_is_passed_on_and_unconfirmed_ones_are_warned_of() {
    let harness = TestGateway::of_social().await;
    let pair = "wechat_search/search";
    let long = "k".repeat(32);
    for (value, warned) in [
        ("all", false),
        ("account", false),
        ("article", false),
        ("video", false),
        ("sticker", false),
        ("live_stream", true),
    ] {
        let got = harness
            .look(pair, &format!("keyword=a&business_type={value}"))
            .await;
        assert_eq!(got.status, 200, "{value}: {}", got.text());
        let expected = warned.then(|| "1;codes=unconfirmed_value".to_owned());
        assert_eq!(got.header("trunkline-warnings"), expected, "{value}");
    }
    // The platform finds nothing of a kind that it does not know: it was asked.
    let got = harness
        .look(pair, &format!("keyword=a&business_type={long}"))
        .await;
    assert_eq!(got.code(), "social_data_no_result", "{}", got.text());
    let sent = harness.simulator.social_calls().pop().unwrap().params;
    assert!(sent.iter().any(|(_, one)| *one == long), "{sent:?}");
    let before = harness.posted_at_rest().await;
    let got = harness
        .look(pair, &format!("keyword=a&business_type={long}k"))
        .await;
    assert_eq!(
        (got.status.as_u16(), got.code().as_str()),
        (400, "invalid_parameter_value")
    );
    assert_eq!(harness.posted_at_rest().await, before);
    // Strict mode refuses what has no effect; this one may have.
    let strict = [("trunkline-strict", "true")];
    let got = harness
        .look_with(pair, "keyword=a&business_type=live_stream", &strict)
        .await;
    assert_eq!(got.status, 200, "{}", got.text());
    harness.audit().await;
}
