//! Tables for every condition of a tier: thresholds, request attributes, wall clocks, time zones,
//! day changes and daylight saving.

use trunkline_catalog::{
    Attributes, Book, GroupChoice, Limits, PriceClass, PricingContext, Scalar, bound, quote,
};
use trunkline_types::{Face, Timestamp, Units};

/// A book with one model `m` and the given tiers, as JSON.
fn book(tiers: &str) -> Book {
    let text = format!(
        r#"{{"groups":{{"g":{{"rate":"1"}}}},"models":{{"m":{{"groups":["g"],"prices":{{
            "billing_unit":"tokens","standard":{{"input":1000000,"output":1000000}},"tiers":[{tiers}]}}}}}}}}"#
    );
    Book::from_json(&text).unwrap()
}

fn tier(name: &str, pico: u32, when: &str) -> String {
    format!(r#"{{"tier":"{name}","standard":{{"input":{pico},"output":{pico}}},"when":[{when}]}}"#)
}

/// Tier and charge of one call.
fn priced(book: &Book, tokens: u64, attributes: &Attributes, at: &str) -> (String, i64) {
    let (_, offer) = book.offer("m", GroupChoice::Named("g")).unwrap();
    let at: jiff::Timestamp = at.parse().unwrap();
    let context = PricingContext {
        attributes,
        at: Timestamp::from_micros(at.as_microsecond()),
    };
    let units = Units::none().plus(Face::Input, tokens).unwrap();
    let quote = quote(offer, PriceClass::Standard, &units, context).unwrap();
    (quote.tier.to_owned(), quote.total.nanos())
}

const ANY_TIME: &str = "2026-11-15T00:00:00Z";

// covers: G-2.6-82
#[test]
fn context_len_holds_when_the_context_is_longer_than_context_len_gt() {
    let book = book(&tier(
        "long_context",
        2_000_000,
        r#"{"dim":"context_len","context_len_gt":200000}"#,
    ));
    let none = Attributes::none();
    assert_eq!(
        priced(&book, 0, &none, ANY_TIME),
        ("standard".to_owned(), 0)
    );
    assert_eq!(
        priced(&book, 200_000, &none, ANY_TIME),
        ("standard".to_owned(), 200_000_000)
    );
    assert_eq!(
        priced(&book, 200_001, &none, ANY_TIME),
        ("long_context".to_owned(), 400_002_000)
    );
}

#[test]
fn cached_tokens_count_as_context() {
    let book = book(&tier(
        "long_context",
        2_000_000,
        r#"{"dim":"context_len","context_len_gt":10}"#,
    ));
    let (_, offer) = book.offer("m", GroupChoice::Named("g")).unwrap();
    let attributes = Attributes::none();
    let context = PricingContext {
        attributes: &attributes,
        at: Timestamp::from_micros(0),
    };
    let used = |face| {
        let units = Units::none()
            .plus(Face::Input, 10)
            .unwrap()
            .plus(face, 1)
            .unwrap();
        quote(offer, PriceClass::Standard, &units, context)
            .unwrap()
            .tier
            .to_owned()
    };
    assert_eq!(used(Face::CacheRead), "long_context");
    assert_eq!(used(Face::CacheWrite1h), "long_context");
    assert_eq!(used(Face::Output), "standard");
}

// covers: G-2.6-83
#[test]
fn request_attr_compares_a_field_of_the_request() {
    let conditions = [
        ("service_tier", r#""priority""#, Scalar::from("priority")),
        ("metadata.sound", "true", Scalar::Bool(true)),
        ("metadata.seconds", "10", Scalar::Integer(10)),
    ];
    for (path, json, value) in conditions {
        let when = format!(r#"{{"dim":"request_attr","path":"{path}","equals":{json}}}"#);
        let book = book(&tier("priority", 500_000, &when));
        let with = |value: Scalar| {
            priced(
                &book,
                1_000,
                &Attributes::none().with(path, value),
                ANY_TIME,
            )
            .0
        };
        assert_eq!(with(value), "priority");
        assert_eq!(with(Scalar::from("other")), "standard");
        assert_eq!(
            with(Scalar::from("10")),
            "standard",
            "a text is not the number it spells"
        );
        assert_eq!(with(Scalar::from("true")), "standard");
        assert_eq!(
            priced(&book, 1_000, &Attributes::none(), ANY_TIME).0,
            "standard"
        );
        let elsewhere = Attributes::none().with("other_path", Scalar::Bool(true));
        assert_eq!(priced(&book, 1_000, &elsewhere, ANY_TIME).0, "standard");
    }
}

// covers: G-2.6-84
#[test]
fn a_local_time_window_holds_at_its_hours_and_weekdays_in_its_zone() {
    // 09:00 to 12:00 on working days; 2026-11-16 is a Monday.
    let peak = |zone: &str| {
        let when = format!(
            r#"{{"dim":"wall_clock","timezone":"{zone}","weekdays":[1,2,3,4,5],"hours":[9,10,11]}}"#
        );
        book(&tier("peak", 3_000_000, &when))
    };
    let rows = [
        ("Asia/Shanghai", "2026-11-16T00:59:59.999999Z", "standard"),
        ("Asia/Shanghai", "2026-11-16T01:00:00Z", "peak"),
        ("Asia/Shanghai", "2026-11-16T03:59:59.999999Z", "peak"),
        ("Asia/Shanghai", "2026-11-16T04:00:00Z", "standard"),
        // Sunday 21:00 in New York is already Monday 10:00 in Shanghai.
        ("Asia/Shanghai", "2026-11-16T02:00:00Z", "peak"),
        ("America/New_York", "2026-11-16T02:00:00Z", "standard"),
        ("America/New_York", "2026-11-16T14:00:00Z", "peak"),
        // Saturday and Sunday are outside.
        ("Asia/Shanghai", "2026-11-14T02:00:00Z", "standard"),
        ("Asia/Shanghai", "2026-11-15T02:00:00Z", "standard"),
        // Offsets of half and three quarter hours.
        ("Asia/Kolkata", "2026-11-16T03:29:59Z", "standard"),
        ("Asia/Kolkata", "2026-11-16T03:30:00Z", "peak"),
        ("Asia/Kathmandu", "2026-11-16T03:14:59Z", "standard"),
        ("Asia/Kathmandu", "2026-11-16T03:15:00Z", "peak"),
        ("UTC", "2026-11-16T09:00:00Z", "peak"),
        ("UTC", "2026-11-16T08:59:59Z", "standard"),
        // Before 1970 the calendar goes on.
        ("UTC", "1969-12-29T09:00:00Z", "peak"),
    ];
    for (zone, at, expected) in rows {
        assert_eq!(
            priced(&peak(zone), 1, &Attributes::none(), at).0,
            expected,
            "{zone} {at}"
        );
    }
}

#[test]
fn a_day_begins_at_local_midnight() {
    let book = book(&tier(
        "weekend",
        1_500_000,
        r#"{"dim":"wall_clock","timezone":"Asia/Tokyo","weekdays":[6,7],
            "hours":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23]}"#,
    ));
    let rows = [
        ("2026-11-13T14:59:59Z", "standard"),
        ("2026-11-13T15:00:00Z", "weekend"),
        ("2026-11-15T14:59:59Z", "weekend"),
        ("2026-11-15T15:00:00Z", "standard"),
    ];
    for (at, expected) in rows {
        assert_eq!(
            priced(&book, 1, &Attributes::none(), at).0,
            expected,
            "{at}"
        );
    }
}

#[test]
fn daylight_saving_moves_the_window_with_local_time() {
    let hour = |zone: &str, hour: u8| {
        let when = format!(
            r#"{{"dim":"wall_clock","timezone":"{zone}","weekdays":[1,2,3,4,5,6,7],"hours":[{hour}]}}"#
        );
        book(&tier("peak", 3_000_000, &when))
    };
    let rows = [
        // New York, 8 March 2026: 02:00 is skipped, 01:59 is followed by 03:00.
        ("America/New_York", 2, "2026-03-08T06:59:59Z", "standard"),
        ("America/New_York", 2, "2026-03-08T07:00:00Z", "standard"),
        ("America/New_York", 3, "2026-03-08T07:00:00Z", "peak"),
        // 1 November 2026: 01:00 comes twice, and is charged as 01:00 both times.
        ("America/New_York", 1, "2026-11-01T05:00:00Z", "peak"),
        ("America/New_York", 1, "2026-11-01T06:00:00Z", "peak"),
        ("America/New_York", 1, "2026-11-01T07:00:00Z", "standard"),
        // Nine in the morning moves by an hour between winter and summer.
        ("Europe/Berlin", 9, "2026-01-15T08:00:00Z", "peak"),
        ("Europe/Berlin", 9, "2026-07-15T08:00:00Z", "standard"),
        ("Europe/Berlin", 9, "2026-07-15T07:00:00Z", "peak"),
        // Lord Howe moves by half an hour: 02:00 becomes 02:30 on 4 October 2026.
        ("Australia/Lord_Howe", 2, "2026-10-03T15:30:00Z", "peak"),
        ("Australia/Lord_Howe", 2, "2026-10-03T15:59:59Z", "peak"),
        ("Australia/Lord_Howe", 2, "2026-10-03T16:00:00Z", "standard"),
    ];
    for (zone, of_day, at, expected) in rows {
        assert_eq!(
            priced(&hour(zone, of_day), 1, &Attributes::none(), at).0,
            expected,
            "{zone} {at}"
        );
    }
}

// covers: G-2.6-79, G-2.6-80
#[test]
fn the_narrowest_tier_wins_and_its_faces_are_charged() {
    let long = r#"{"dim":"context_len","context_len_gt":100}"#;
    let priority = r#"{"dim":"request_attr","path":"service_tier","equals":"priority"}"#;
    // Written widest last and narrowest in the middle: the order in the book does not matter.
    let all = [
        tier("priority", 3_000_000, priority),
        tier(
            "priority_long_context",
            5_000_000,
            &format!("{long},{priority}"),
        ),
        tier("long_context", 2_000_000, long),
    ];
    let book = book(&all.join(","));
    let priority = Attributes::none().with("service_tier", "priority");
    let rows = [
        (100, Attributes::none(), "standard", 100_000),
        (101, Attributes::none(), "long_context", 202_000),
        (100, priority.clone(), "priority", 300_000),
        (101, priority, "priority_long_context", 505_000),
    ];
    for (tokens, attributes, name, nanos) in rows {
        assert_eq!(
            priced(&book, tokens, &attributes, ANY_TIME),
            (name.to_owned(), nanos)
        );
    }
}

#[test]
fn a_quote_says_why_its_tier_matched() {
    let when = r#"{"dim":"context_len","context_len_gt":100},
        {"dim":"request_attr","path":"service_tier","equals":"priority"},
        {"dim":"wall_clock","timezone":"UTC","weekdays":[7],"hours":[1,0]}"#;
    let book = book(&tier("special", 3_000_000, when));
    let (_, offer) = book.offer("m", GroupChoice::Named("g")).unwrap();
    let attributes = Attributes::none().with("service_tier", "priority");
    let sunday: jiff::Timestamp = "2026-11-15T00:30:00Z".parse().unwrap();
    let context = PricingContext {
        attributes: &attributes,
        at: Timestamp::from_micros(sunday.as_microsecond()),
    };
    let units = Units::none().plus(Face::Input, 101).unwrap();
    let quote = quote(offer, PriceClass::Standard, &units, context).unwrap();
    assert_eq!(
        quote.why.to_string(),
        "context longer than 100 tokens and service_tier is \"priority\" and weekdays [7], hours [0, 1] in UTC"
    );
}

#[test]
fn a_bound_covers_every_tier_the_call_can_still_reach_and_no_other() {
    let book = book(
        &[
            tier(
                "long",
                2_000_000,
                r#"{"dim":"context_len","context_len_gt":100}"#,
            ),
            tier(
                "longer",
                9_000_000,
                r#"{"dim":"context_len","context_len_gt":1000}"#,
            ),
        ]
        .join(","),
    );
    let (_, offer) = book.offer("m", GroupChoice::Named("g")).unwrap();
    let attributes = Attributes::none();
    let context = PricingContext {
        attributes: &attributes,
        at: Timestamp::from_micros(0),
    };
    let most = |input| {
        let limits = Limits {
            input,
            output: 10,
            ..Limits::default()
        };
        let bound = bound(offer, PriceClass::Standard, &limits, context).unwrap();
        (bound.tier.to_owned(), bound.total.nanos())
    };
    assert_eq!(most(100), ("standard".to_owned(), 110_000));
    assert_eq!(most(101), ("long".to_owned(), 222_000));
    assert_eq!(most(1_000), ("long".to_owned(), 2_020_000));
    assert_eq!(most(1_001), ("longer".to_owned(), 9_099_000));
}

#[test]
fn a_bound_names_the_first_reached_of_equally_priced_tiers() {
    let book = book(&tier(
        "long",
        1_000_000,
        r#"{"dim":"context_len","context_len_gt":100}"#,
    ));
    let (_, offer) = book.offer("m", GroupChoice::Named("g")).unwrap();
    let attributes = Attributes::none();
    let context = PricingContext {
        attributes: &attributes,
        at: Timestamp::from_micros(0),
    };
    let limits = Limits {
        input: 1_000,
        ..Limits::default()
    };
    assert_eq!(
        bound(offer, PriceClass::Standard, &limits, context)
            .unwrap()
            .tier,
        "standard"
    );
}

#[test]
fn a_time_outside_the_calendar_is_refused() {
    let book = book(&tier(
        "peak",
        2_000_000,
        r#"{"dim":"wall_clock","timezone":"UTC","weekdays":[1],"hours":[1]}"#,
    ));
    let (_, offer) = book.offer("m", GroupChoice::Named("g")).unwrap();
    let attributes = Attributes::none();
    let context = PricingContext {
        attributes: &attributes,
        at: Timestamp::from_micros(i64::MAX),
    };
    assert!(quote(offer, PriceClass::Standard, &Units::none(), context).is_err());
    assert!(bound(offer, PriceClass::Standard, &Limits::default(), context).is_err());
}
