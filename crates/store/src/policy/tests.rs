//! What a policy takes, what it refuses, and what becomes of it below another one.

use super::*;
use crate::validation::{LIST_MAX_WORDS, WORD_MAX_CHARACTERS};

fn words(words: &[&str]) -> Option<Vec<String>> {
    Some(words.iter().map(|word| (*word).to_owned()).collect())
}

fn policy(fields: PolicyFields) -> Policy {
    Policy::new(fields).unwrap()
}

fn wrong(fields: PolicyFields) -> String {
    Policy::new(fields).unwrap_err().to_string()
}

#[test]
fn lists_are_kept_in_one_order_without_repetition() {
    let fields = PolicyFields {
        models: words(&["b", "a", "b"]),
        addresses: words(&["2001:DB8::/32", "10.0.0.7", "10.0.0.7/32"]),
        ..PolicyFields::default()
    };
    let checked = policy(fields);
    assert_eq!(checked.fields().models, words(&["a", "b"]));
    let networks = words(&["10.0.0.7/32", "2001:db8::/32"]);
    assert_eq!(checked.fields().addresses, networks);
}

#[test]
fn a_wrong_field_is_named_with_what_would_be_right() {
    let default = PolicyFields::default;
    let rows = [
        (
            PolicyFields {
                models: words(&[]),
                ..default()
            },
            "models must not be empty",
        ),
        (
            PolicyFields {
                endpoints: words(&["chat", ""]),
                ..default()
            },
            "endpoints must not be empty",
        ),
        (
            PolicyFields {
                endpoints: words(&["chat", "chats"]),
                ..default()
            },
            "endpoints has \"chats\", which is no endpoint; the words are chat, messages,",
        ),
        (
            PolicyFields {
                platforms: words(&["a b"]),
                ..default()
            },
            "platforms has \"a b\": a word",
        ),
        (
            PolicyFields {
                regions: words(&["a,b"]),
                ..default()
            },
            "regions has \"a,b\": a word",
        ),
        (
            PolicyFields {
                addresses: words(&["10.0.0.1/8"]),
                ..default()
            },
            "addresses has \"10.0.0.1/8\", which is not a network such as",
        ),
        (
            PolicyFields {
                group: KeyGroup::Named(String::new()),
                ..default()
            },
            "group must not be empty",
        ),
        (
            PolicyFields {
                requests_per_minute: Some(0),
                ..default()
            },
            "requests_per_minute must be from 1 to",
        ),
        (
            PolicyFields {
                tokens_per_minute: Some(LIMIT_MAX + 1),
                ..default()
            },
            "tokens_per_minute must be from 1 to",
        ),
        (
            PolicyFields {
                concurrent_calls: Some(-1),
                ..default()
            },
            "concurrent_calls must be from 1 to",
        ),
    ];
    for (fields, expected) in rows {
        let message = wrong(fields);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn lists_words_and_limits_end_at_their_bounds() {
    let of = |count: usize| (0..count).map(|number| number.to_string()).collect();
    let models = |list: Vec<String>| PolicyFields {
        models: Some(list),
        ..PolicyFields::default()
    };
    policy(models(of(LIST_MAX_WORDS)));
    assert!(wrong(models(of(LIST_MAX_WORDS + 1))).contains("at most 200 entries"));
    policy(models(vec!["m".repeat(WORD_MAX_CHARACTERS)]));
    let long = wrong(models(vec!["m".repeat(WORD_MAX_CHARACTERS + 1)]));
    assert!(long.contains("at most 128 characters"), "{long}");
    policy(PolicyFields {
        concurrent_calls: Some(LIMIT_MAX),
        requests_per_minute: Some(1),
        ..PolicyFields::default()
    });
    let hidden = wrong(models(vec!["ü".repeat(100)]));
    assert!(hidden.chars().count() < 140, "cut before it is shown back");
}

#[test]
fn a_key_below_a_silent_parent_keeps_what_it_asks_for() {
    let own = policy(PolicyFields {
        models: words(&["a"]),
        concurrent_calls: Some(3),
        expires_at: Some(Timestamp::from_micros(5)),
        group: KeyGroup::Auto,
        ..PolicyFields::default()
    });
    let silent = policy(PolicyFields::default());
    assert_eq!(own.below(&silent), Ok(own));
}

#[test]
fn a_silent_key_takes_its_parents_policy_whole() {
    let parent = policy(PolicyFields {
        group: KeyGroup::Named("vip".to_owned()),
        models: words(&["a"]),
        endpoints: words(&["chat"]),
        platforms: words(&["p1"]),
        addresses: words(&["10.0.0.0/8"]),
        regions: words(&["eu"]),
        residencies: words(&["de"]),
        upstream_zero_retention: true,
        policy: Some(RoutePolicy::Cheapest),
        max_price: MaxPrice::read(Some("3"), Some("15.5"), Some("0.04")).unwrap(),
        requests_per_minute: Some(1),
        tokens_per_minute: Some(2),
        concurrent_calls: Some(3),
        strict: true,
        fit_to_balance: Some(false),
        zero_retention: true,
        on_disconnect: Some(OnDisconnect::Finish),
        expires_at: Some(Timestamp::from_micros(5)),
    });
    let silent = policy(PolicyFields::default());
    assert_eq!(silent.below(&parent), Ok(parent));
}

#[test]
fn a_key_may_be_narrower_than_its_parent_and_not_wider() {
    let parent = policy(PolicyFields {
        models: words(&["a", "b"]),
        addresses: words(&["10.0.0.0/8"]),
        tokens_per_minute: Some(100),
        expires_at: Some(Timestamp::from_micros(5)),
        ..PolicyFields::default()
    });
    let narrower = PolicyFields {
        models: words(&["b"]),
        addresses: words(&["10.1.0.0/16"]),
        tokens_per_minute: Some(100),
        expires_at: Some(Timestamp::from_micros(4)),
        strict: true,
        ..PolicyFields::default()
    };
    let below = policy(narrower.clone()).below(&parent).unwrap();
    assert_eq!(below.fields(), &narrower);
    let rows = [
        (
            "models must not allow more than the parent key does (c)",
            PolicyFields {
                models: words(&["b", "c"]),
                ..narrower.clone()
            },
        ),
        (
            "addresses must not allow more",
            PolicyFields {
                addresses: words(&["0.0.0.0/0"]),
                ..narrower.clone()
            },
        ),
        (
            "tokens_per_minute must not allow more than the parent key does (101)",
            PolicyFields {
                tokens_per_minute: Some(101),
                ..narrower.clone()
            },
        ),
        (
            "expires_at must not allow more",
            PolicyFields {
                expires_at: Some(Timestamp::from_micros(6)),
                ..narrower
            },
        ),
    ];
    for (expected, fields) in rows {
        let message = policy(fields).below(&parent).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}
