//! An operator's margins over HTTP, beside SQL over the ledger.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trunkline_ledger::Outcome;
use trunkline_store::channels::{self, EditChannelError, NewChannel, NewCredential};
use trunkline_store::people::{OperatorRole, Role};
use trunkline_types::{AccountId, Money, RANDOM_BYTES, RequestId, Timestamp};

use crate::customer::harness::{Browser, CallSpec, CustomerConsole};

const PATH: &str = "/api/operator/margins";

fn cost_book(input: u64, output: u64) -> Value {
    json!({
        "currency": "CNY",
        "rate": { "numerator": 7, "denominator": 50, "as_of": "2026-11-15" },
        "models": { "upstream-chat": { "input": input, "output": output } },
    })
}

/// A channel that sells `open-chat`, and its number.
async fn channel(harness: &CustomerConsole, name: &str, cost: Option<&Value>) -> i64 {
    let models = BTreeMap::from([("open-chat".to_owned(), "upstream-chat".to_owned())]);
    let new = NewChannel {
        name,
        provider: "openai",
        base_url: None,
        priority: 1,
        weight: 1,
        region: None,
        residency: None,
        zero_retention: false,
        models: &models,
        groups: &[],
        extra_headers: &BTreeMap::new(),
        proxy: None,
        requests_per_minute: None,
        concurrent_calls: None,
        cost,
        credentials: &[NewCredential {
            label: "a",
            sealed: b"sealed",
            hint: "abcd",
        }],
    };
    let mut tx = harness.people.begin().await.unwrap();
    let made = channels::add(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    made.id.number()
}

fn call(channel: i64, nanos: i64, cost: Option<i64>) -> CallSpec {
    CallSpec {
        nanos,
        cost,
        attempts: json!([{ "channel": channel, "status": 200, "error": null, "ms": 12 }]),
        ..CallSpec::default()
    }
}

struct World {
    harness: CustomerConsole,
    operator: Browser,
    accounts: [AccountId; 2],
    channels: [i64; 2],
}

/// Two customers who called two channels: at a profit, at a loss, at an unknown cost, in vain, and with a refund.
async fn world() -> World {
    let harness = CustomerConsole::new().await;
    let accounts = [
        harness.firm("Acme", 1_000_000_000, 100_000).await,
        harness.firm("Bolt", 1_000_000_000, 0).await,
    ];
    let operator = harness.operator(OperatorRole::Owner).await;
    // 12 units of input and 5 of output: 12 * 2,000 + 5 * 8,000 = 64,000 picos of CNY, times 7 / 50, are 9 nanos.
    let book = cost_book(2_000, 8_000);
    let channels = [
        channel(&harness, "first", Some(&book)).await,
        channel(&harness, "second", None).await,
    ];
    for (number, nanos) in [400_000, 77, 3, 9].into_iter().enumerate() {
        let spec = call(channels[0], nanos, Some(9));
        harness.call(accounts[number % 2], spec).await;
    }
    harness
        .call(accounts[1], call(channels[1], 5_000, None))
        .await;
    let back = harness
        .call(accounts[0], call(channels[1], 6_000, Some(1_000)))
        .await;
    harness.refund(accounts[0], back, 2_500).await;
    let failed = CallSpec {
        outcome: Outcome::NoResult,
        ..call(channels[0], 1, None)
    };
    harness.call(accounts[0], failed).await;
    World {
        harness,
        operator,
        accounts,
        channels,
    }
}

fn nanos(value: &Value) -> i64 {
    value.as_str().unwrap().parse::<Money>().unwrap().nanos()
}

/// A name, revenue, cost, margin and calls, as SQL writes them in one text.
fn five(row: &str) -> (String, [i64; 4]) {
    let mut words = row.split(' ');
    let name = words.next().unwrap().to_owned();
    let numbers: Vec<i64> = words.map(|word| word.parse().unwrap()).collect();
    (name, numbers.try_into().unwrap())
}

#[tokio::test]
async fn an_operators_margins_equal_sql_over_the_ledger_to_the_nano_dollar() {
    let World {
        harness, operator, ..
    } = world().await;
    for (group_by, column) in [
        (
            "channel",
            "COALESCE((u.attempts -> -1 ->> 'channel')::bigint, 0)::text",
        ),
        ("customer", "u.account_id::text"),
        ("model", "u.model"),
        ("group", "u.group_name"),
        ("day", "(u.settled_at AT TIME ZONE 'UTC')::date::text"),
    ] {
        let statement = format!(
            "SELECT concat_ws(' ', {column}, sum(m.revenue), COALESCE(sum(u.cost), 0),
                 sum(m.revenue) FILTER (WHERE u.cost IS NOT NULL) - sum(u.cost), count(*))
             FROM ledger.usage AS u
             CROSS JOIN LATERAL (
                 SELECT COALESCE(sum(CASE t.kind WHEN 'charge' THEN t.amount ELSE -t.amount END), 0) AS revenue
                 FROM ledger.posting AS t WHERE t.request_id = u.request_id) AS m
             GROUP BY {column}"
        );
        let rows = harness.db.ask(&statement).await;
        let expected: BTreeMap<String, [i64; 4]> = rows.iter().map(|row| five(row)).collect();
        let (lines, _) = harness
            .pages(&operator, &format!("{PATH}?group_by={group_by}&limit=1"))
            .await;
        let name = match group_by {
            "channel" => "channel_id",
            "customer" => "customer_id",
            word => word,
        };
        let found: BTreeMap<String, [i64; 4]> = lines
            .iter()
            .map(|line| {
                let of = line[name].as_str();
                let of = of.map_or_else(|| line[name].to_string(), str::to_owned);
                let money =
                    ["revenue_usd", "cost_usd", "margin_usd"].map(|name| nanos(&line[name]));
                let calls = line["calls"].as_i64().unwrap();
                (of, [money[0], money[1], money[2], calls])
            })
            .collect();
        assert_eq!(found, expected, "{group_by}");
        assert!(lines.is_sorted_by_key(|line| nanos(&line["margin_usd"])));
    }
    harness.audit().await;
}

#[tokio::test]
async fn an_operator_follows_the_worst_line_down_to_the_call_and_its_dated_price_list() {
    let World {
        harness,
        operator,
        accounts,
        channels,
    } = world().await;
    let sums = harness
        .read(&operator, &format!("{PATH}?group_by=channel,customer"))
        .await;
    assert_eq!(sums["count"], 4);
    // A line of unknown cost has no margin, neither good nor bad.
    let first = &sums["data"][0];
    assert_eq!(
        (&first["channel"], &first["customer"]),
        (&json!("second"), &json!("Bolt"))
    );
    assert_eq!(
        (&first["margin_usd"], &first["margin_percent"]),
        (&json!("0"), &Value::Null)
    );
    let lines = sums["data"].as_array().unwrap();
    let best = lines.last().unwrap();
    assert_eq!(best["customer_id"], accounts[0].number());
    assert_eq!(best["margin_usd"], "0.000399985");
    // Refunds and unknown costs are in the totals too.
    let totals = &sums["totals"];
    assert_eq!(
        (&totals["uncosted_calls"], &totals["uncosted_revenue_usd"]),
        (&json!(1), &json!("0.000005"))
    );
    assert_eq!(
        (&totals["below_cost_calls"], &totals["below_cost_loss_usd"]),
        (&json!(1), &json!("0.000000006"))
    );
    assert_eq!(
        (&totals["failed_calls"], &totals["refunded_usd"]),
        (&json!(1), &json!("0.0000025"))
    );
    let below = harness
        .read(
            &operator,
            &format!("{PATH}/calls?below_cost=true&channel={}", channels[0]),
        )
        .await;
    let calls = below["data"].as_array().unwrap();
    assert_eq!(
        (calls.len(), &calls[0]["margin_usd"]),
        (1, &json!("-0.000000006"))
    );
    let id = calls[0]["request_id"].as_str().unwrap();
    // The list that the channel has now explains no earlier call.
    let mut tx = harness.people.begin().await.unwrap();
    channels::edit::<EditChannelError>(&mut tx, "first", |channel| {
        channel.cost = Some(cost_book(1, 1));
        Ok(())
    })
    .await
    .unwrap();
    tx.commit().await.unwrap();
    let one = harness.read(&operator, &format!("{PATH}/calls/{id}")).await;
    assert_eq!(
        (&one["cost_usd"], &one["is_below_cost"]),
        (&json!("0.000000009"), &json!(true))
    );
    assert_eq!(
        (&one["price_list"]["currency"], &one["price_list"]["rate"]),
        (&json!("CNY"), &json!("7/50"))
    );
    let lines = one["cost_lines"].as_array().unwrap();
    let prices: Vec<&Value> = lines.iter().map(|line| &line["price_pico"]).collect();
    assert_eq!(prices, [&json!(2_000), &json!(8_000)]);
    let unknown = format!(
        "{PATH}/calls?channel={}&customer={}",
        channels[1],
        accounts[1].number()
    );
    let listed = harness.read(&operator, &unknown).await;
    assert_eq!(listed["data"][0]["cost_usd"], Value::Null);
    assert_eq!(listed["data"][0]["margin_usd"], Value::Null);
}

#[tokio::test]
async fn margins_are_for_operators_and_refuse_what_they_do_not_understand() {
    let World {
        harness,
        operator,
        accounts,
        ..
    } = world().await;
    let member = harness.member(accounts[0], Role::Owner).await;
    let id = RequestId::new(Timestamp::from_micros(0), [1; RANDOM_BYTES]);
    for path in [
        PATH.to_owned(),
        format!("{PATH}/calls"),
        format!("{PATH}/calls/{id}"),
    ] {
        harness.get(&member, &path).await.error(404, "not_found");
        harness
            .get(&Browser::stranger(), &path)
            .await
            .error(401, "not_signed_in");
    }
    harness
        .get(&operator, &format!("{PATH}/calls/{id}"))
        .await
        .error(404, "not_found");
    for (query, param) in [
        ("group_by=hour", "group_by"),
        ("order=name", "order"),
        ("from=yesterday", "from"),
        ("from=2026-01-02&to=2026-01-01", "from"),
        ("after=nonsense", "after"),
        ("limit=1001", "limit"),
    ] {
        let got = harness.get(&operator, &format!("{PATH}?{query}")).await;
        assert_eq!(got.status.as_u16(), 400, "{query}");
        assert_eq!(got.json()["error"]["param"], param, "{query}");
    }
    // Nothing was sold on days before there was anything.
    let empty = harness
        .read(&operator, &format!("{PATH}?from=2020-01-01&to=2020-01-31"))
        .await;
    assert_eq!(
        (&empty["data"], &empty["totals"]["margin_percent"]),
        (&json!([]), &Value::Null)
    );
}
