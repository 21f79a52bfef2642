//! What a book must be to be loaded, and its version.

use trunkline_catalog::{Book, BookError, MAX_BOOK_BYTES, MAX_MODELS, PricingVersion};

/// A model `m` with the given JSON of its prices.
fn load(prices: &str) -> Result<Book, BookError> {
    Book::from_json(&format!(
        r#"{{"groups":{{"g":{{"rate":"1"}}}},"models":{{"m":{{"groups":["g"],"prices":{prices}}}}}}}"#
    ))
}

fn with_tiers(tiers: &str) -> Result<Book, BookError> {
    load(&format!(
        r#"{{"billing_unit":"tokens","standard":{{"input":10,"output":10}},"tiers":[{tiers}]}}"#
    ))
}

fn refusal(loaded: Result<Book, BookError>) -> String {
    loaded.map(|_| ()).unwrap_err().to_string()
}

const LONG: &str = r#"{"tier":"long","standard":{"input":20,"output":20},"when":[{"dim":"context_len","context_len_gt":100}]}"#;
const FAST: &str = r#"{"tier":"fast","standard":{"input":30,"output":30},"when":[{"dim":"request_attr","path":"speed","equals":"fast"}]}"#;

// covers: G-2.6-71, D-2-02
#[test]
fn standard_is_a_map_from_face_names_to_integer_prices() {
    assert!(load(r#"{"billing_unit":"tokens","standard":{"input":10,"output":10}}"#).is_ok());
    let wrong = [
        r#"{"billing_unit":"tokens","standard":{"input":10.5,"output":10}}"#,
        r#"{"billing_unit":"tokens","standard":{"input":"10","output":10}}"#,
        r#"{"billing_unit":"tokens","standard":{"input":-1,"output":10}}"#,
        r#"{"billing_unit":"tokens","standard":{"input":1000000000000001,"output":10}}"#,
        r#"{"billing_unit":"tokens","standard":{"inputs":10,"input":10,"output":10}}"#,
        r#"{"billing_unit":"tokens","standard":[10,10]}"#,
        r#"{"billing_unit":"tokens"}"#,
        r#"{"billing_unit":"per_minute","standard":{"input":10,"output":10}}"#,
    ];
    for prices in wrong {
        assert!(matches!(load(prices), Err(BookError::Shape(_))), "{prices}");
    }
}

// covers: G-2.6-72
#[test]
fn paid_is_null_or_a_map() {
    assert!(
        load(r#"{"billing_unit":"tokens","standard":{"input":10,"output":10},"paid":null}"#)
            .is_ok()
    );
    assert!(load(r#"{"billing_unit":"tokens","standard":{"input":10,"output":10},"paid":{"input":9,"output":9}}"#).is_ok());
    assert!(
        load(r#"{"billing_unit":"tokens","standard":{"input":10,"output":10},"paid":7}"#).is_err()
    );
}

// covers: G-2.6-77, G-2.6-81
#[test]
fn tiers_are_optional_and_a_tier_without_when_is_the_default_one() {
    assert!(with_tiers("").is_ok());
    let named = with_tiers(r#"{"tier":"base","standard":{"input":10,"output":10}}"#).unwrap();
    let names: Vec<_> = named
        .model("m")
        .unwrap()
        .list()
        .tiers()
        .iter()
        .map(|tier| tier.name().to_owned())
        .collect();
    assert_eq!(names, ["base"]);
    let other_prices = with_tiers(r#"{"tier":"base","standard":{"input":11,"output":10}}"#);
    assert!(refusal(other_prices).contains("overlap"));
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let twice = load(r#"{"billing_unit":"tokens","standard":{"input":10,"output":10,"input":1}}"#);
    assert!(refusal(twice).contains("input is duplicated"));
    let twice = load(
        r#"{"billing_unit":"tokens","standard":{"input":1,"output":1},"paid":{"input":1,"input":1,"output":1}}"#,
    );
    assert!(refusal(twice).contains("input is duplicated"));
    let models = r#"{"groups":{"g":{"rate":"1"}},"models":{"m":{"groups":["g"],"prices":{"billing_unit":"per_call","standard":{"per_call":1}}},
        "m":{"groups":["g"],"prices":{"billing_unit":"per_call","standard":{"per_call":2}}}}}"#;
    assert!(refusal(Book::from_json(models)).contains("m is duplicated"));
    assert!(Book::from_toml("[groups]\ng = { rate = \"1\" }\ng = { rate = \"2\" }\n").is_err());
}

#[test]
fn an_unknown_key_is_refused_at_every_level() {
    let wrong = [
        r#"{"groups":{},"models":{},"colour":1}"#,
        r#"{"groups":{"g":{"rate":"1","note":"x"}}}"#,
        r#"{"groups":{"g":{"rate":"1"}},"models":{"m":{"groups":["g"],"price":1,"prices":{"billing_unit":"per_call","standard":{"per_call":1}}}}}"#,
    ];
    for text in wrong {
        assert!(
            matches!(Book::from_json(text), Err(BookError::Shape(_))),
            "{text}"
        );
    }
    let prices = r#"{"billing_unit":"per_call","standard":{"per_call":1},"currency":"EUR"}"#;
    assert!(matches!(load(prices), Err(BookError::Shape(_))));
    for tier in [
        r#"{"tier":"x","standard":{"input":20,"output":20},"when":[],"whn":[]}"#,
        r#"{"tier":"x","standard":{"input":20,"output":20},"when":[{"dim":"context_len","context_len_gt":1,"context_len_lt":2}]}"#,
        r#"{"tier":"x","standard":{"input":20,"output":20},"when":[{"dim":"moon_phase","full":true}]}"#,
        r#"{"tier":"x","standard":{"input":20,"output":20},"when":[{"dim":"request_attr","path":"a","equals":1.5}]}"#,
        r#"{"tier":"x","standard":{"input":20,"output":20},"when":[{"dim":"wall_clock","timezone":"UTC","weekdays":[1]}]}"#,
        r#"{"tier":"x","standard":{"input":20,"output":20},"when":[{"dim":"context_len","context_len_gt":-1}]}"#,
    ] {
        assert!(
            matches!(with_tiers(tier), Err(BookError::Shape(_))),
            "{tier}"
        );
    }
}

#[test]
fn a_missing_face_is_refused() {
    let rows = [
        (
            r#"{"billing_unit":"tokens","standard":{"input":10}}"#,
            "no price for output",
        ),
        (
            r#"{"billing_unit":"per_second","standard":{}}"#,
            "no price for video_second",
        ),
        (
            r#"{"billing_unit":"audio_duration","standard":{"input":1}}"#,
            "no price for audio_input",
        ),
        (
            r#"{"billing_unit":"tokens","standard":{"input":1,"output":1,"per_call":1}}"#,
            "per_call cannot be priced",
        ),
        (
            r#"{"billing_unit":"tokens","standard":{"input":1,"output":1},"paid":{"input":1}}"#,
            "paid has no price for output",
        ),
        (
            r#"{"billing_unit":"tokens","standard":{"input":1,"output":1},"paid":{"input":1,"output":1,"cache_read":1}}"#,
            "paid prices cache_read",
        ),
    ];
    for (prices, text) in rows {
        let reply = refusal(load(prices));
        assert!(
            reply.contains(text) && reply.contains("model \"m\""),
            "{reply}"
        );
    }
    let tier = r#"{"tier":"long","standard":{"input":20},"when":[{"dim":"context_len","context_len_gt":100}]}"#;
    assert!(refusal(with_tiers(tier)).contains("tier \"long\": standard has no price for output"));
}

#[test]
fn overlapping_tiers_are_refused_until_their_meeting_has_a_tier() {
    let reply = refusal(with_tiers(&format!("{LONG},{FAST}")));
    assert!(
        reply.contains("\"fast\" and \"long\" overlap")
            || reply.contains("\"long\" and \"fast\" overlap"),
        "{reply}"
    );
    let both = r#"{"tier":"fast_long","standard":{"input":40,"output":40},"when":[{"dim":"context_len","context_len_gt":100},{"dim":"request_attr","path":"speed","equals":"fast"}]}"#;
    assert!(with_tiers(&format!("{LONG},{FAST},{both}")).is_ok());
    let twin = LONG.replace("\"long\"", "\"long2\"");
    assert!(
        refusal(with_tiers(&format!("{LONG},{twin}"))).contains("both hold in the same situations")
    );
    let morning = r#"{"tier":"am","standard":{"input":20,"output":20},"when":[{"dim":"wall_clock","timezone":"UTC","weekdays":[1],"hours":[8,9]}]}"#;
    let later = r#"{"tier":"later","standard":{"input":20,"output":20},"when":[{"dim":"wall_clock","timezone":"UTC","weekdays":[1],"hours":[9,10]}]}"#;
    assert!(refusal(with_tiers(&format!("{morning},{later}"))).contains("overlap"));
    assert!(with_tiers(&format!("{morning},{}", later.replace("[9,10]", "[10,11]"))).is_ok());
    let other_word = FAST.replace("\"fast\"", "\"slow\"");
    assert!(
        with_tiers(&format!("{FAST},{other_word}")).is_ok(),
        "one field cannot have two values"
    );
}

#[test]
fn an_unreachable_tier_is_refused() {
    let contradiction = r#"{"tier":"x","standard":{"input":20,"output":20},"when":[{"dim":"request_attr","path":"a","equals":1},{"dim":"request_attr","path":"a","equals":2}]}"#;
    assert!(refusal(with_tiers(contradiction)).contains("contradict each other"));
    let all_day = (0..24)
        .map(|hour| hour.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let weekdays = |name: &str, days: &str| {
        format!(
            r#"{{"tier":"{name}","standard":{{"input":20,"output":20}},"when":[{{"dim":"wall_clock","timezone":"UTC","weekdays":[{days}],"hours":[{all_day}]}}]}}"#
        )
    };
    let covered = format!(
        "{},{}",
        weekdays("work", "1,2,3,4,5"),
        weekdays("rest", "6,7")
    );
    assert!(refusal(with_tiers(&covered)).contains("tier \"standard\" is unreachable"));
    let context = r#"{"tier":"x","standard":{"per_call":2},"when":[{"dim":"context_len","context_len_gt":1}]}"#;
    let by_call = load(&format!(
        r#"{{"billing_unit":"per_call","standard":{{"per_call":1}},"tiers":[{context}]}}"#
    ));
    assert!(refusal(by_call).contains("context_len never holds"));
}

#[test]
fn a_price_that_falls_as_the_context_grows_is_refused() {
    let cheaper = LONG.replace("\"output\":20", "\"output\":9");
    assert!(refusal(with_tiers(&cheaper)).contains("tier \"long\" lowers output"));
    let same = LONG.replace("20", "10");
    assert!(with_tiers(&same).is_ok(), "equal is not lower");
    let paid = r#"{"tier":"long","standard":{"input":20,"output":20},"paid":{"input":9,"output":20},"when":[{"dim":"context_len","context_len_gt":100}]}"#;
    assert!(
        refusal(with_tiers(paid)).contains("lowers input"),
        "the paid column counts too"
    );
}

#[test]
fn conditions_out_of_range_are_refused() {
    let clock = |zone: &str, days: &str, hours: &str| {
        with_tiers(&format!(
            r#"{{"tier":"x","standard":{{"input":20,"output":20}},"when":[{{"dim":"wall_clock","timezone":"{zone}","weekdays":[{days}],"hours":[{hours}]}}]}}"#
        ))
    };
    assert!(clock("Asia/Shanghai", "1", "0").is_ok());
    assert!(refusal(clock("Asia/Shanghai", "0", "1")).contains("weekdays must be from 1"));
    assert!(refusal(clock("Asia/Shanghai", "8", "1")).contains("weekdays must be from 1"));
    assert!(refusal(clock("Asia/Shanghai", "", "1")).contains("weekdays must be from 1"));
    assert!(refusal(clock("Asia/Shanghai", "1", "24")).contains("hours must be from 0 to 23"));
    assert!(refusal(clock("Asia/Shanghai", "1", "")).contains("hours must be from 0 to 23"));
    assert!(refusal(clock("Asia/Atlantis", "1", "1")).contains("unknown time zone"));
    assert!(
        refusal(clock("asia/shanghai", "1", "1")).contains("unknown time zone"),
        "one spelling only"
    );
    let two_zones = r#"{"tier":"a","standard":{"input":20,"output":20},"when":[{"dim":"wall_clock","timezone":"UTC","weekdays":[1],"hours":[1]}]},
        {"tier":"b","standard":{"input":20,"output":20},"when":[{"dim":"wall_clock","timezone":"Asia/Tokyo","weekdays":[2],"hours":[1]}]}"#;
    assert!(refusal(with_tiers(two_zones)).contains("several time zones"));
    let path = FAST.replace("\"speed\"", "\"a b\"");
    assert!(refusal(with_tiers(&path)).contains("must be a dotted path"));
    let long_path = FAST.replace("\"speed\"", &format!("\"{}\"", "p".repeat(129)));
    assert!(refusal(with_tiers(&long_path)).contains("must be a dotted path"));
    let long_value = FAST.replace(
        "\"equals\":\"fast\"",
        &format!("\"equals\":\"{}\"", "v".repeat(129)),
    );
    assert!(refusal(with_tiers(&long_value)).contains("equals is too long"));
}

#[test]
fn names_and_sizes_are_bounded() {
    assert!(refusal(with_tiers(&format!("{LONG},{LONG}"))).contains("is duplicated"));
    assert!(refusal(with_tiers(&LONG.replace("\"long\"", "\"lo ng\""))).contains("tier name"));
    let many: Vec<String> = (1..=16)
        .map(|step| {
            LONG.replace("\"long\"", &format!("\"t{step}\""))
                .replace("100", &format!("{}", step * 100))
        })
        .collect();
    assert!(with_tiers(&many[..15].join(",")).is_ok());
    assert!(refusal(with_tiers(&many.join(","))).contains("at most 16"));
    let nine: Vec<String> = (0..9)
        .map(|at| format!(r#"{{"dim":"request_attr","path":"p{at}","equals":1}}"#))
        .collect();
    let tier = format!(
        r#"{{"tier":"x","standard":{{"input":20,"output":20}},"when":[{}]}}"#,
        nine.join(",")
    );
    assert!(refusal(with_tiers(&tier)).contains("at most 8"));
    let wide: Vec<String> = (0..15)
        .map(|at| format!(r#"{{"tier":"t{at}","standard":{{"input":20,"output":20}},"when":[{{"dim":"request_attr","path":"p{at}","equals":1}}]}}"#))
        .collect();
    assert!(refusal(with_tiers(&wide.join(","))).contains("more than 20000 different situations"));
    let group = r#"{"groups":{"":{"rate":"1"}}}"#;
    assert!(refusal(Book::from_json(group)).contains("printable characters"));
}

#[test]
fn groups_must_exist_and_rates_must_be_positive() {
    let book = |groups: &str, auto: &str, sold: &str| {
        Book::from_json(&format!(
            r#"{{"groups":{{{groups}}},"auto_groups":[{auto}],"models":{{"m":{{"groups":[{sold}],"prices":{{"billing_unit":"per_call","standard":{{"per_call":1}}}}}}}}}}"#
        ))
    };
    let one = r#""g":{"rate":"1"}"#;
    assert!(book(one, r#""g""#, r#""g""#).is_ok());
    assert!(refusal(book(one, r#""h""#, r#""g""#)).contains("auto_groups names \"h\""));
    assert!(refusal(book(one, r#""g","g""#, r#""g""#)).contains("twice"));
    assert!(refusal(book(one, "", r#""h""#)).contains("sold in \"h\""));
    assert!(refusal(book(one, "", "")).contains("sold in no group"));
    for rate in ["0", "-1", "x", "1/0", "1.0000001"] {
        assert!(
            book(&format!(r#""g":{{"rate":"{rate}"}}"#), "", r#""g""#).is_err(),
            "{rate}"
        );
    }
    assert!(
        book(r#""g":{"rate":1.5}"#, "", r#""g""#).is_err(),
        "a float is no rate"
    );
}

// covers: D-2-37, G-2.6-48, G-9-04
#[test]
fn pricing_version_is_a_sha_256_of_the_whole_price_set_in_canonical_form() {
    let first = Book::from_toml(
        r#"
        auto_groups = ["a", "b"]
        [groups]
        a = { rate = "1.5" }
        b = { rate = "1" }
        [models.m]
        groups = ["b", "a", "b"]
        [models.m.prices]
        billing_unit = "tokens"
        standard = { output = 10, input = 10 }
        [[models.m.prices.tiers]]
        tier = "night"
        standard = { input = 5, output = 5 }
        when = [{ dim = "wall_clock", timezone = "UTC", weekdays = [2, 1], hours = [1, 0, 1] }]
        [[models.m.prices.tiers]]
        tier = "day"
        standard = { input = 6, output = 6 }
        when = [{ dim = "wall_clock", timezone = "UTC", weekdays = [1], hours = [12] }]
        "#,
    )
    .unwrap();
    let other_order = r#"{"models":{"m":{"prices":{"tiers":[
        {"when":[{"dim":"wall_clock","hours":[12],"weekdays":[1],"timezone":"UTC"}],"standard":{"output":6,"input":6},"tier":"day","paid":null},
        {"when":[{"dim":"wall_clock","hours":[0,1],"weekdays":[1,2],"timezone":"UTC"}],"standard":{"output":5,"input":5},"tier":"night"}],
        "paid":null,"standard":{"input":10,"output":10},"billing_unit":"tokens"},"groups":["a","b"]}},
        "auto_groups":["a","b"],"groups":{"b":{"rate":"1/1"},"a":{"rate":"3/2"}}}"#;
    let second = Book::from_json(other_order).unwrap();
    assert_eq!(
        first.version(),
        second.version(),
        "the order and form of the input do not matter"
    );
    assert_eq!(first.version().to_string().len(), 64);
    assert_eq!(
        PricingVersion::from_bytes(first.version().bytes()),
        first.version()
    );
    assert_eq!(
        first.version().to_string(),
        "791e8a14b18c5bf397cb5182f790ee6cb3506ad05e19ec2b928e9db752f6ff17",
        "the canonical form is a promise: stored charges name it"
    );
    for (from, to) in [
        ("\"output\":6", "\"output\":7"),
        (
            "\"paid\":null,\"standard\"",
            "\"paid\":{\"input\":10,\"output\":10},\"standard\"",
        ),
        ("\"hours\":[12]", "\"hours\":[13]"),
        ("\"3/2\"", "\"5/2\""),
        ("\"groups\":[\"a\",\"b\"]}}", "\"groups\":[\"a\"]}}"),
        (
            "\"auto_groups\":[\"a\",\"b\"]",
            "\"auto_groups\":[\"b\",\"a\"]",
        ),
        ("\"m\":", "\"n\":"),
        ("\"day\"", "\"noon\""),
    ] {
        let changed = other_order.replacen(from, to, 1);
        assert_ne!(changed, other_order, "{from}");
        let changed = Book::from_json(&changed).unwrap_or_else(|error| panic!("{to}: {error}"));
        assert_ne!(changed.version(), first.version(), "{from} -> {to}");
    }
}

#[test]
fn a_refused_book_names_everything_that_is_wrong_at_once() {
    let text = r#"{"groups":{"g":{"rate":"1"}},"models":{
        "a":{"groups":["g"],"prices":{"billing_unit":"tokens","standard":{"input":1}}},
        "b":{"groups":["h"],"prices":{"billing_unit":"per_call","standard":{"per_call":1}}}}}"#;
    let reply = refusal(Book::from_json(text));
    assert!(
        reply.contains("model \"a\": no price for output")
            && reply.contains("model \"b\": it is sold in \"h\""),
        "{reply}"
    );
    let Err(BookError::Findings(findings)) = Book::from_json(text) else {
        panic!("must be refused")
    };
    assert_eq!(findings.len(), 2);
}

#[test]
fn names_may_be_as_long_as_the_bound_and_no_longer() {
    let with_model = |name: &str| {
        Book::from_json(&format!(
            r#"{{"groups":{{"g":{{"rate":"1"}}}},"models":{{{name:?}:{{"groups":["g"],"prices":{{"billing_unit":"per_call","standard":{{"per_call":1}}}}}}}}}}"#
        ))
    };
    assert_eq!(
        with_model(&"m".repeat(200))
            .unwrap()
            .model(&"m".repeat(200))
            .unwrap()
            .groups(),
        ["g"]
    );
    assert!(refusal(with_model(&"m".repeat(201))).contains("printable characters"));
    assert!(refusal(with_model("a\tb")).contains("printable characters"));
    assert!(with_tiers(&LONG.replace("\"long\"", &format!("{:?}", "t".repeat(64)))).is_ok());
    let long = LONG.replace("\"long\"", &format!("{:?}", "t".repeat(65)));
    assert!(refusal(with_tiers(&long)).contains("tier name"));
    assert!(refusal(with_tiers(&LONG.replace("\"long\"", "\"\""))).contains("tier name"));
    assert!(with_tiers(&FAST.replace("\"speed\"", &format!("{:?}", "p".repeat(128)))).is_ok());
    assert!(with_tiers(&FAST.replace("\"fast\"}", &format!("{:?}}}", "v".repeat(128)))).is_ok());
}

#[test]
fn a_tier_may_have_eight_conditions_and_situations_may_fill_their_bound() {
    let on = |path: &str, value: usize| {
        format!(r#"{{"dim":"request_attr","path":"{path}","equals":{value}}}"#)
    };
    let tier = |name: &str, when: &[String]| {
        format!(
            r#"{{"tier":"{name}","standard":{{"input":20,"output":20}},"when":[{}]}}"#,
            when.join(",")
        )
    };
    let eight: Vec<String> = (0..8).map(|at| on(&format!("p{at}"), 1)).collect();
    assert!(with_tiers(&tier("eight", &eight)).is_ok());
    // Four paths of four values and five of one make 5 * 5 * 5 * 5 * 2^5 = 20000 situations.
    let filled = |extra: &[String]| {
        let mut tiers: Vec<String> = (1..5)
            .map(|value| {
                tier(
                    &format!("t{value}"),
                    &["a", "b", "c", "d"].map(|path| on(path, value)),
                )
            })
            .collect();
        let mut last: Vec<String> = (0..5).map(|at| on(&format!("q{at}"), 1)).collect();
        last.extend_from_slice(extra);
        tiers.push(tier("last", &last));
        refusal(with_tiers(&tiers.join(",")))
    };
    assert!(
        filled(&[]).contains("overlap"),
        "twenty thousand are looked at"
    );
    assert!(filled(&[on("one_more", 1)]).contains("more than 20000 different situations"));
}

#[test]
fn a_book_larger_than_its_bounds_is_not_looked_at() {
    let mut text = String::from(r#"{"groups":{}}"#);
    text.push_str(&" ".repeat(MAX_BOOK_BYTES - text.len()));
    assert!(Book::from_json(&text).is_ok());
    text.push(' ');
    for read in [Book::from_json(&text), Book::from_toml(&text)] {
        let refused = read.unwrap_err().to_string();
        assert!(refused.contains("more than 64000000 bytes"), "{refused}");
    }
    let with_models = |count: usize| {
        let prices =
            r#"{"groups":["g"],"prices":{"billing_unit":"per_call","standard":{"per_call":1}}}"#;
        let models: Vec<String> = (0..count)
            .map(|number| format!("\"m{number}\":{prices}"))
            .collect();
        Book::from_json(&format!(
            r#"{{"groups":{{"g":{{"rate":"1"}}}},"models":{{{}}}}}"#,
            models.join(",")
        ))
    };
    assert!(with_models(MAX_MODELS).is_ok());
    assert!(refusal(with_models(MAX_MODELS + 1)).contains("at most 100000"));
}
