//! The bounds of the code are the bounds of the tables: the last that passes, the first that does not.

use trunkline_store::accounts::{self, CreateAccountError, NewAccount};
use trunkline_store::validation::{
    LIMIT_MAX, LIST_MAX_WORDS, NAME_MAX_CHARACTERS, REASON_MAX_CHARACTERS, WORD_MAX_CHARACTERS,
};
use trunkline_store::{MAX_PRICE_NANOS, channels, time_zones};
use trunkline_types::{SHARDS, Shard};

use crate::channels::add;
use crate::test_store::{TestStore, ledger_account};

/// Sets a column to a value and says which constraint was broken, if one was.
async fn broken(harness: &TestStore, table: &str, column: &str, value: &str) -> Option<String> {
    let statement = format!("UPDATE {table} SET {column} = {value}, revision = revision + 1");
    let owner = harness.db.owner().await;
    match harness.say(&owner, &statement).await {
        Ok(()) => None,
        Err(error) => Some(error.constraint().unwrap_or("none").to_owned()),
    }
}

fn text(characters: usize) -> String {
    format!("repeat('ü', {characters})")
}

fn list(words: usize, characters: usize) -> String {
    format!("array_fill({}, ARRAY[{words}])", text(characters))
}

/// What a column takes at its edges and what it does not, beyond them.
struct Edges {
    table: &'static str,
    column: &'static str,
    constraint: &'static str,
    good: Vec<String>,
    bad: Vec<String>,
}

fn edges(
    table: &'static str,
    column: &'static str,
    constraint: &'static str,
    good: &[&str],
    bad: &[&str],
) -> Edges {
    let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    Edges {
        table,
        column,
        constraint,
        good: owned(good),
        bad: owned(bad),
    }
}

/// A text of 1 to so many characters.
fn text_edges(
    table: &'static str,
    column: &'static str,
    constraint: &'static str,
    most: usize,
) -> Edges {
    let (last, first) = (text(most), text(most + 1));
    edges(
        table,
        column,
        constraint,
        &[&text(1), &last],
        &[&text(0), &first],
    )
}

/// A list that may be absent and may not be empty.
fn list_edges(column: &'static str, constraint: &'static str) -> Edges {
    let (words, characters) = (LIST_MAX_WORDS, WORD_MAX_CHARACTERS);
    let good = ["NULL", &list(1, 1), &list(words, characters)];
    let bad = [
        "'{}'",
        "'{NULL}'",
        &list(1, 0),
        &list(words + 1, 1),
        &list(1, characters + 1),
    ];
    edges("app.api_key", column, constraint, &good, &bad)
}

fn limit_edges(column: &'static str, constraint: &'static str) -> Edges {
    let (last, first) = (LIMIT_MAX.to_string(), (LIMIT_MAX + 1).to_string());
    let good = ["NULL", "1", &last];
    edges("app.api_key", column, constraint, &good, &["0", &first])
}

async fn hold(harness: &TestStore, all: Vec<Edges>) {
    for edge in all {
        let place = format!("{}.{}", edge.table, edge.column);
        for value in &edge.good {
            let reply = broken(harness, edge.table, edge.column, value).await;
            assert_eq!(reply, None, "{place} = {value}");
        }
        for value in &edge.bad {
            let reply = broken(harness, edge.table, edge.column, value).await;
            assert_eq!(reply.as_deref(), Some(edge.constraint), "{place} = {value}");
        }
    }
}

#[tokio::test]
async fn the_account_table_ends_where_the_code_says() {
    let harness = TestStore::new().await;
    harness.account().await;
    let table = "app.account";
    let (words, characters) = (LIST_MAX_WORDS, WORD_MAX_CHARACTERS);
    let all = vec![
        text_edges(table, "name", "account_name_bounded", NAME_MAX_CHARACTERS),
        text_edges(table, "group_name", "account_group_bounded", characters),
        edges(
            table,
            "group_name",
            "account_group_is_a_group",
            &[],
            &["'auto'"],
        ),
        edges(
            table,
            "allowed_groups",
            "account_allowed_groups_bounded",
            &["'{}'", &list(words, characters)],
            &["'{NULL}'", &list(words + 1, 1), &list(1, characters + 1)],
        ),
        edges(
            table,
            "shard",
            "account_shard",
            &["0", &(SHARDS - 1).to_string()],
            &["-1", &SHARDS.to_string()],
        ),
    ];
    hold(&harness, all).await;
}

#[tokio::test]
async fn the_key_table_ends_where_the_code_says() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    harness.key(account, None).await;
    let table = "app.api_key";
    let networks = |count: usize| format!("array_fill('::/0'::cidr, ARRAY[{count}])");
    let bytes = |count: usize| format!("decode(repeat('00', {count}), 'hex')");
    let price_edges = |column, constraint| {
        let most = MAX_PRICE_NANOS.to_string();
        let above = (MAX_PRICE_NANOS + 1).to_string();
        edges(
            table,
            column,
            constraint,
            &["NULL", "0", &most],
            &["-1", &above],
        )
    };
    let all = vec![
        text_edges(table, "name", "api_key_name_bounded", NAME_MAX_CHARACTERS),
        text_edges(
            table,
            "group_name",
            "api_key_group_bounded",
            WORD_MAX_CHARACTERS,
        ),
        text_edges(table, "hint", "api_key_hint_bounded", 16),
        edges(
            table,
            "addresses",
            "api_key_addresses_bounded",
            &["NULL", &networks(1), &networks(LIST_MAX_WORDS)],
            &["'{}'", "'{NULL}'", &networks(LIST_MAX_WORDS + 1)],
        ),
        edges(
            table,
            // A new hash of the key itself goes with this one, or not at all.
            "previous_hash",
            "api_key_previous_is_sha256",
            &["NULL"],
            &[&bytes(31), &bytes(33)],
        ),
        list_edges("models", "api_key_models_bounded"),
        list_edges("endpoints", "api_key_endpoints_bounded"),
        list_edges("platforms", "api_key_platforms_bounded"),
        list_edges("regions", "api_key_regions_bounded"),
        list_edges("residencies", "api_key_residencies_bounded"),
        price_edges("max_input_nanos", "api_key_max_input_bounded"),
        price_edges("max_output_nanos", "api_key_max_output_bounded"),
        price_edges("max_unit_nanos", "api_key_max_unit_bounded"),
        limit_edges("requests_per_minute", "api_key_requests_bounded"),
        limit_edges("tokens_per_minute", "api_key_tokens_bounded"),
        limit_edges("concurrent_calls", "api_key_concurrent_bounded"),
    ];
    hold(&harness, all).await;
}

#[tokio::test]
async fn the_channel_tables_end_where_the_code_says() {
    let harness = TestStore::new().await;
    add(&harness, "one", 0).await.unwrap();
    let (table, below) = ("app.channel", "app.channel_credential");
    let (words, word) = (LIST_MAX_WORDS, WORD_MAX_CHARACTERS);
    let bytes = |count: usize| format!("decode(repeat('00', {count}), 'hex')");
    let map = |count: usize, key: usize, value: usize| {
        format!(
            "(SELECT jsonb_object_agg(lpad(n::text, {key}, 'k'), repeat('ü', {value}))
              FROM generate_series(1, {count}) AS n)"
        )
    };
    let range = |column, constraint, least: i64, most: i64| {
        let [below, above] = [(least - 1).to_string(), (most + 1).to_string()];
        let [least, most] = [least.to_string(), most.to_string()];
        edges(
            table,
            column,
            constraint,
            &[&least, &most],
            &[&below, &above],
        )
    };
    let sealed = |table, column, constraint, most: usize| {
        let [least, last, first] = [bytes(1), bytes(most), bytes(most + 1)];
        edges(
            table,
            column,
            constraint,
            &[&least, &last],
            &["''::bytea", &first],
        )
    };
    let (models, headers) = (channels::MAX_MODELS, channels::MAX_HEADERS);
    let value = channels::HEADER_VALUE_MAX_CHARACTERS;
    // PostgreSQL writes {"": "…"}, eight bytes around the text.
    let cost = |bytes: usize| format!("jsonb_build_object('', repeat('x', {}))", bytes - 8);
    let all = vec![
        text_edges(table, "name", "channel_name_bounded", NAME_MAX_CHARACTERS),
        text_edges(table, "provider", "channel_provider_bounded", word),
        text_edges(table, "region", "channel_region_bounded", word),
        text_edges(table, "residency", "channel_residency_bounded", word),
        text_edges(
            table,
            "base_url",
            "channel_base_url_bounded",
            channels::BASE_URL_MAX_CHARACTERS,
        ),
        range(
            "priority",
            "channel_priority_bounded",
            0,
            channels::PRIORITY_MAX.into(),
        ),
        range(
            "weight",
            "channel_weight_bounded",
            1,
            channels::WEIGHT_MAX.into(),
        ),
        range(
            "requests_per_minute",
            "channel_requests_bounded",
            1,
            LIMIT_MAX,
        ),
        range(
            "concurrent_calls",
            "channel_concurrent_bounded",
            1,
            LIMIT_MAX,
        ),
        edges(
            table,
            "models",
            "channel_models_bounded",
            &[&map(1, 1, 1), &map(models, word, word)],
            &[
                "'{}'",
                "'[]'",
                "'{\"a\": 1}'",
                "'{\"a\": \"\"}'",
                "'{\"\": \"a\"}'",
                &map(models + 1, 4, 1),
                &map(1, word + 1, 1),
                &map(1, 1, word + 1),
            ],
        ),
        edges(
            table,
            "extra_headers",
            "channel_headers_bounded",
            &["'{}'", &map(headers, word, value)],
            &["'7'", &map(headers + 1, 2, 1), &map(1, 1, value + 1)],
        ),
        edges(
            table,
            "groups",
            "channel_groups_bounded",
            &["'{}'", &list(words, word)],
            &["'{NULL}'", &list(words + 1, 1), &list(1, word + 1)],
        ),
        edges(
            table,
            "groups",
            "channel_groups_are_groups",
            &[],
            &["'{auto}'"],
        ),
        edges(
            table,
            "cost",
            "channel_cost_bounded",
            &["NULL", "'{}'", &cost(channels::COST_MAX_BYTES)],
            &["'[]'", "'7'", &cost(channels::COST_MAX_BYTES + 1)],
        ),
        edges(
            table,
            "state",
            "channel_state_known",
            &["'active'", "'draining'", "'off'"],
            &["'on'"],
        ),
        sealed(
            table,
            "proxy",
            "channel_proxy_bounded",
            channels::SEALED_PROXY_MAX_BYTES,
        ),
        sealed(
            below,
            "sealed",
            "channel_credential_sealed_bounded",
            channels::SEALED_CREDENTIAL_MAX_BYTES,
        ),
        text_edges(
            below,
            "hint",
            "channel_credential_hint_bounded",
            channels::HINT_MAX_CHARACTERS,
        ),
        text_edges(
            below,
            "paused_reason",
            "channel_credential_reason_bounded",
            REASON_MAX_CHARACTERS,
        ),
    ];
    hold(&harness, all).await;
}

// covers: D-2-26
#[tokio::test]
async fn an_account_belongs_to_one_group_and_auto_is_not_one() {
    let harness = TestStore::new().await;
    let account = harness.account().await;
    let read = harness.read_account(account).await;
    assert_eq!((read.group.as_str(), read.shard.number()), ("default", 63));
    assert!(read.may_use("default") && read.may_use("night") && !read.may_use("vip"));
    let none = harness.say(
        &harness.console,
        "UPDATE app.account SET group_name = NULL, revision = revision + 1",
    );
    assert!(none.await.is_err(), "there is always one");

    let mut tx = harness.console.begin().await.unwrap();
    let id = ledger_account(&mut tx).await;
    let new = NewAccount {
        id,
        name: "Bob",
        group: "default",
        allowed_groups: &[],
        shard: Shard::new(0).unwrap(),
    };
    let auto = ["auto".to_owned()];
    let long = "n".repeat(NAME_MAX_CHARACTERS + 1);
    let rows = [
        (
            NewAccount {
                group: "auto",
                ..new
            },
            "group must name a group",
        ),
        (
            NewAccount {
                allowed_groups: &auto,
                ..new
            },
            "allowed_groups must name a group",
        ),
        (NewAccount { group: "", ..new }, "group must not be empty"),
        (NewAccount { name: " ", ..new }, "name must not be empty"),
        (
            NewAccount {
                name: "a\nb",
                ..new
            },
            "name must not have line breaks",
        ),
        (
            NewAccount { name: &long, ..new },
            "name may have at most 100",
        ),
    ];
    for (wrong, expected) in rows {
        let refused = accounts::create(&mut tx, &wrong).await.unwrap_err();
        assert!(matches!(refused, CreateAccountError::Field(_)));
        assert!(refused.to_string().starts_with(expected), "{refused}");
    }
    accounts::create(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn an_account_without_a_ledger_is_refused() {
    let harness = TestStore::new().await;
    let statement = "INSERT INTO app.account (id, name, shard, revision) VALUES (7, 'x', 1, 1)";
    let refused = harness.say(&harness.console, statement).await.unwrap_err();
    assert_eq!(refused.constraint(), Some("account_has_a_ledger"));
}

#[tokio::test]
async fn a_time_zone_is_an_iana_name_that_the_database_knows() {
    let harness = TestStore::new().await;
    let mut session = harness.console.session().await.unwrap();
    for (zone, known) in [
        ("UTC", true),
        ("Europe/Berlin", true),
        ("Mars/Olympus", false),
        ("localtime", false),
        ("", false),
        ("UTC+3", false),
    ] {
        let reply = time_zones::is_known(&mut session, zone).await.unwrap();
        assert_eq!(reply, known, "{zone}");
    }
}
