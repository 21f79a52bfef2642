//! What an operator gets who sets nothing but the keys of the page.

use std::collections::BTreeSet;

use super::*;

/// Most keys that going live may need.
const KEYS: usize = 8;

/// The configuration that the page about one server begins with.
fn of_page() -> toml::Table {
    let page = include_str!("../../../../../docs/operate/single-server.md");
    let block = page.split("```toml\n").nth(1).unwrap();
    block.split("```").next().unwrap().parse().unwrap()
}

fn number_of(text: &str, name: &str) -> i64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn going_live_takes_eight_keys_and_no_other() {
    let table = of_page();
    let keys: BTreeSet<String> = table
        .iter()
        .flat_map(|(section, keys)| {
            let keys = keys.as_table().unwrap().keys();
            keys.map(move |key| format!("{section}.{key}"))
        })
        .collect();
    assert!(keys.len() <= KEYS, "{keys:?}");
    let config = from_text(&table.to_string(), &[]).unwrap();
    assert!(config.database.url.is_some() && config.mail.is_some());
    assert!(config.edge.public_url.starts_with("https://"));
    assert!(!config.edge.trusted_proxies.is_empty());
    // Each of them is needed: what it has by default is not for customers.
    for key in &keys {
        let (section, name) = key.split_once('.').unwrap();
        let mut without = table.clone();
        let keys = without.get_mut(section).unwrap().as_table_mut().unwrap();
        let value = keys.remove(name).unwrap();
        let default = Layers::defaults().unwrap();
        assert_ne!(default.value_of(key), Some(&value), "{key}");
    }
}

#[test]
fn without_a_setting_a_node_calls_no_other_machine_and_listens_to_none() {
    let config = from_text("", &[]).unwrap();
    assert!(config.telemetry.traces.is_none() && config.mail.is_none());
    assert!(config.redis.is_none() && config.events.nats.is_none());
    assert!(config.edge.listen.ip().is_loopback() && config.console.listen.ip().is_loopback());
    assert!(config.admin_listen.ip().is_loopback());
    assert!(config.edge.trusted_proxies.is_empty() && config.fetch.allowed.is_empty());
    let raw = Layers::defaults().unwrap().raw().unwrap();
    assert!(!raw.fetch.high_ports);
    assert_eq!(raw.console.sign_up, "closed");
    assert_eq!(
        raw.console.trial_amount_usd, "",
        "money is given on purpose"
    );
}

#[test]
fn the_default_times_and_sizes_fit_each_other_and_the_unit() {
    let raw = Layers::defaults().unwrap().raw().unwrap();
    let database = &raw.database;
    assert!(database.lock_timeout_ms < database.statement_timeout_ms);
    assert!(database.acquire_timeout_ms < database.statement_timeout_ms);
    // PostgreSQL has 100 connections unless it is told otherwise, three of them for its superuser.
    assert!(
        2 * database.max_connections <= 97,
        "a restart has two nodes"
    );
    let video = &raw.video;
    assert!(video.poll_first_ms <= video.poll_most_ms);
    assert!(
        video.call_ms < video.lease_ms,
        "no living call is taken over"
    );
    assert!(video.queue_seconds < video.deadline_seconds);
    let uploads = &raw.uploads;
    assert!(uploads.max_bytes * 2 <= uploads.max_on_disk_bytes);
    let webhooks = &raw.webhooks;
    assert!(webhooks.at_once_per_webhook <= webhooks.at_once_per_account);
    assert!(webhooks.at_once_per_account * 4 <= webhooks.at_once);
    let events = &raw.events;
    assert!(events.max_connections_per_account * 4 <= events.max_connections);
    assert!(raw.limits.requests_per_minute <= raw.limits.reads_per_minute);
    assert!(raw.limits.read_on_cents <= raw.limits.cancelled_input_cents);

    let unit = include_str!("../../../../../packaging/trunkline.service");
    let stop = number_of(unit, "TimeoutStopSec=");
    assert!(raw.edge.notice_seconds + raw.edge.drain_seconds + 20 <= stop);
    let descriptors = number_of(unit, "LimitNOFILE=");
    let connections = raw.edge.memory_mb * 500_000 / 65_536;
    // Each call may have a connection to an upstream.
    assert!(2 * connections + raw.events.max_connections < descriptors);
}
