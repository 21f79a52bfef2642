//! The forms a channel and a cost book may have, without a database.

use serde_json::json;
use trunkline_types::{Face, Units};

use super::*;

fn book() -> Value {
    json!({
        "currency": "CNY",
        "rate": { "numerator": 7, "denominator": 50, "as_of": "2026-11-15" },
        "models": { "theirs": { "input": 2_000_000, "output": 8_000_000, "cache_read": 0 } },
    })
}

fn units(all: &[(Face, u64)]) -> Units {
    all.iter()
        .try_fold(Units::none(), |units, (face, quantity)| {
            units.plus(*face, *quantity)
        })
        .unwrap()
}

#[test]
fn a_cost_is_exact_in_the_upstreams_currency_and_rounded_once_in_usd() {
    let book = CostBook::from_json(&book()).unwrap();
    assert_eq!(
        (book.currency(), book.rate().to_string().as_str()),
        ("CNY", "7/50")
    );
    assert_eq!(book.as_of().seconds(), 1_794_700_800);
    let used = units(&[(Face::Input, 1_000_000), (Face::Output, 500_000)]);
    // (2 + 4) CNY at 0.14
    let cost = book.cost_usd("theirs", &used).unwrap();
    assert_eq!(cost.to_string(), "0.84");
    // 0.00028 nano-USD for one token of input: 2 pico-CNY * 0.14, 1785.7… of them make a half.
    let cheap = json!({
        "currency": "CNY",
        "rate": { "numerator": 7, "denominator": 50, "as_of": "2026-11-15" },
        "models": { "theirs": { "input": 2, "output": 2 } },
    });
    let cheap = CostBook::from_json(&cheap).unwrap();
    let nanos = |input, output| {
        let used = units(&[(Face::Input, input), (Face::Output, output)]);
        cheap.cost_usd("theirs", &used).unwrap().nanos()
    };
    assert_eq!([nanos(1_785, 0), nanos(1_786, 0)], [0, 1]);
    assert_eq!(nanos(893, 893), 1, "the sum is rounded, not its lines");
}

#[test]
fn a_cost_that_is_not_known_is_not_zero() {
    let book = CostBook::from_json(&book()).unwrap();
    let cost = |model: &str, face| book.cost_usd(model, &units(&[(face, 9)]));
    assert_eq!(
        cost("theirs", Face::CacheRead),
        Some(trunkline_types::Money::ZERO)
    );
    assert_eq!(cost("theirs", Face::CacheWrite), None, "nothing stands in");
    assert_eq!(cost("other", Face::Input), None);
    assert!(book.cost_usd("theirs", &Units::none()).is_some());
}

#[test]
fn a_cost_book_says_what_is_wrong_with_it() {
    let rows = [
        (
            "/currency",
            json!("yuan"),
            "cost.currency must be three capital",
        ),
        ("/currency", json!("USD"), "cost.rate must be 1/1"),
        ("/currency", json!(7), "cost is not understood"),
        ("/rate/numerator", json!(0), "cost.rate must be a fraction"),
        (
            "/rate/denominator",
            json!(0),
            "cost.rate must be a fraction",
        ),
        (
            "/rate/numerator",
            json!(1_000_003),
            "cost.rate must be a fraction",
        ),
        ("/rate/numerator", json!(0.14), "cost is not understood"),
        (
            "/rate/as_of",
            json!("yesterday"),
            "cost.rate.as_of must be a date",
        ),
        ("/models", json!({}), "cost.models must not be empty"),
        (
            "/models/theirs",
            json!({ "inputs": 1 }),
            "cost is not understood: unknown face",
        ),
        ("/models/theirs/input", json!(1.5), "cost is not understood"),
        (
            "/models/theirs/input",
            json!(-1),
            "cost is not understood: a price cannot be negative",
        ),
        (
            "/rate",
            json!({}),
            "cost is not understood: missing field `numerator`",
        ),
    ];
    for (place, value, expected) in rows {
        let mut wrong = book();
        *wrong.pointer_mut(place).unwrap() = value;
        let message = CostBook::from_json(&wrong).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{place}: {message}");
    }
    let mut more = book();
    more["margin"] = json!(1);
    let message = CostBook::from_json(&more).unwrap_err().to_string();
    assert!(message.contains("unknown field `margin`"), "{message}");
    let long = json!({ "x".repeat(5_000): 1 });
    let message = CostBook::from_json(&long).unwrap_err().to_string();
    assert!(message.len() < 400, "text from outside is cut");
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

/// What is said about a channel that is good but for a change.
fn problem<'a>(change: impl FnOnce(&mut NewChannel<'a>)) -> String {
    // Leaked, so that a change may put in what lives as long as the test.
    let models: &'static _ = Box::leak(Box::new(map(&[("ours", "theirs")])));
    let headers: &'static _ = Box::leak(Box::new(BTreeMap::new()));
    let mut new = NewChannel {
        name: "n",
        provider: "openai",
        base_url: None,
        priority: 0,
        weight: 1,
        region: None,
        residency: None,
        zero_retention: false,
        models,
        groups: &[],
        extra_headers: headers,
        proxy: None,
        requests_per_minute: None,
        concurrent_calls: None,
        cost: None,
        credentials: &[NewCredential {
            label: "a",
            sealed: b"sealed",
            hint: "…last",
        }],
    };
    change(&mut new);
    let checked = check::channel(&new).and_then(|_| check::credentials(new.credentials));
    checked.map_or_else(|error| error.to_string(), |()| String::new())
}

#[test]
fn an_address_is_plain_http_and_hides_nothing() {
    for good in [
        "http://127.0.0.1:8080",
        "https://api.example.com/v1/",
        "http://[::1]:1/x",
    ] {
        assert_eq!(problem(|new| new.base_url = Some(good)), "", "{good}");
    }
    for wrong in [
        "",
        "api.example.com",
        "ftp://x",
        "https://",
        "https:///v1",
        "https://u:p@h/",
        "https://h?q",
        "https://h#f",
        "https://h h",
    ] {
        let message = problem(|new| new.base_url = Some(wrong));
        assert!(
            message.starts_with("base_url must be an address"),
            "{wrong}: {message}"
        );
    }
    let long = format!("https://{}", "h".repeat(BASE_URL_MAX_CHARACTERS - 8));
    assert_eq!(problem(|new| new.base_url = Some(&long)), "");
    let longer = format!("{long}h");
    assert!(!problem(|new| new.base_url = Some(&longer)).is_empty());
}

#[test]
fn extra_headers_are_not_a_place_for_credentials() {
    let message = |name: &str, value: &str| {
        let headers = map(&[(name, value)]);
        problem(|new| new.extra_headers = &headers)
    };
    assert_eq!(message("OpenAI-Organization", "org-1"), "");
    for ours in [
        "Authorization",
        "x-api-key",
        "Host",
        "Content-Length",
        "Cookie",
    ] {
        let text = message(ours, "canary");
        assert!(text.contains("which we set ourselves"), "{ours}: {text}");
        assert!(!text.contains("canary"));
    }
    for (name, value) in [
        ("a b", "x"),
        ("a:", "x"),
        ("a", "b\r\nc: d"),
        ("a", ""),
        ("a", " b"),
    ] {
        assert!(!message(name, value).is_empty(), "{name:?}: {value:?}");
    }
    let twice = map(&[("X-A", "1"), ("x-a", "2")]);
    let message = problem(|new| new.extra_headers = &twice);
    assert_eq!(message, "extra_headers has \"x-a\" twice");
}

#[test]
fn a_channel_has_a_model_and_a_credential_and_numbers_in_their_range() {
    assert_eq!(problem(|_| {}), "");
    let none = BTreeMap::new();
    assert_eq!(
        problem(|new| new.models = &none),
        "models must not be empty"
    );
    assert_eq!(
        problem(|new| new.credentials = &[]),
        "credentials must not be empty"
    );
    assert_eq!(
        problem(|new| new.name = "a\nb").split(' ').next(),
        Some("name")
    );
    for (priority, weight, good) in [
        (0, 1, true),
        (PRIORITY_MAX, WEIGHT_MAX, true),
        (-1, 1, false),
        (PRIORITY_MAX + 1, 1, false),
        (0, 0, false),
        (0, WEIGHT_MAX + 1, false),
    ] {
        let message = problem(|new| (new.priority, new.weight) = (priority, weight));
        assert_eq!(message.is_empty(), good, "{priority} {weight}: {message}");
    }
    assert!(!problem(|new| new.requests_per_minute = Some(0)).is_empty());
    assert!(!problem(|new| new.concurrent_calls = Some(0)).is_empty());
    assert!(!problem(|new| new.region = Some("")).is_empty());
    assert!(!problem(|new| new.proxy = Some(&[])).is_empty());
}

#[test]
fn a_reason_is_one_line_and_cut_with_a_mark() {
    assert_eq!(
        validation::reason("401\nfrom upstream"),
        "401 from upstream"
    );
    assert_eq!(validation::reason(" \n"), "no reason was given");
    let last = "é".repeat(validation::REASON_MAX_CHARACTERS);
    assert_eq!(validation::reason(&last), last);
    let cut = validation::reason(&format!("{last}é"));
    assert_eq!(cut.chars().count(), validation::REASON_MAX_CHARACTERS);
    assert!(cut.ends_with("é…"));
}

#[test]
fn a_sealed_value_is_not_printed_and_is_bound_to_its_row() {
    let credential = Credential {
        id: CredentialId::new(1),
        label: "a".to_owned(),
        sealed: vec![77, 78, 79],
        hint: "…last".to_owned(),
        disabled: false,
        cool_until: None,
        paused_reason: None,
    };
    let debug = format!("{credential:?}");
    assert!(!debug.contains("77") && !debug.contains("last"), "{debug}");
    assert_ne!(credential_context("a", "b"), credential_context("ab", ""));
    assert_ne!(credential_context("a", ""), proxy_context("a"));
    let long = "\u{10ffff}".repeat(validation::NAME_MAX_CHARACTERS);
    assert!(
        credential_context(&long, &long).len() <= 1_024,
        "what a binding takes"
    );
    let past = Timestamp::from_micros(5);
    let cooling = Credential {
        cool_until: Some(past),
        ..credential.clone()
    };
    assert!(credential.is_usable(past) && cooling.is_usable(past));
    assert!(!cooling.is_usable(Timestamp::from_micros(4)));
}
