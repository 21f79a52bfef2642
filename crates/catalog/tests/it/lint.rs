//! Lint and stale: every code with the smallest catalog that shows it.

use trunkline_catalog::{Document, LintFinding, Severity, lint, stale};
use trunkline_types::{EndpointType, Timestamp};

/// A catalog whose only model has nothing to find; `more` is added to its entry.
fn clean(name: &str, more: &str) -> Document {
    with_prices(
        name,
        r#"{ billing_unit = "tokens", standard = { input = 1_000_000, output = 2_000_000 } }"#,
        more,
    )
}

fn with_prices(name: &str, prices: &str, more: &str) -> Document {
    let text = format!(
        r#"
[groups.default]
rate = "1"

[vendors.acme]
id = 1

[models."{name}"]
groups = ["default"]
prices = {prices}
vendor = "acme"
description = "A model."
tasks = ["chat"]
{more}

[[models."{name}".list]]
source = "acme.example"
read_on = "2026-11-15"
unit = "1M tokens"
per = 1_000_000
faces = {{ input = "1", output = "2" }}
"#
    );
    Document::from_toml(&text).unwrap()
}

const LLM: &str = r#"specs = { type = "llm" }"#;

fn found(document: &Document) -> Vec<LintFinding> {
    lint(document, &EndpointType::is_callable)
}

/// What was found, as `severity code`.
fn codes(document: &Document) -> Vec<String> {
    let findings = found(document);
    let word = |severity| match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    findings
        .iter()
        .map(|finding| format!("{} {}", word(finding.severity), finding.code))
        .collect()
}

#[test]
fn a_clean_catalog_has_no_findings() {
    assert_eq!(codes(&clean("m", LLM)), [""; 0]);
}

#[test]
fn a_price_without_a_source_is_an_error_of_its_tier() {
    let mut document = clean("m", LLM);
    let entry = document.models.get_mut("m").unwrap();
    entry.list[0].faces.remove(&trunkline_types::Face::Output);
    let findings = found(&document);
    assert_eq!(findings[0].code, "price_without_source");
    assert!(
        findings[0].text.ends_with("the price of output"),
        "{}",
        findings[0].text
    );
    entry_without_list(&mut document);
    assert_eq!(codes(&document), ["error price_without_source"]);
    let tiered = with_prices(
        "m",
        r#"{ billing_unit = "tokens", standard = { input = 1_000_000, output = 2_000_000 }, tiers = [{ tier = "priority", standard = { input = 1_000_001, output = 2_000_000 }, when = [{ dim = "request_attr", path = "service_tier", equals = "priority" }] }] }"#,
        LLM,
    );
    let findings = found(&tiered);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].text.starts_with("tier \"priority\": no source"));
}

fn entry_without_list(document: &mut Document) {
    document.models.get_mut("m").unwrap().list.clear();
}

#[test]
fn prices_above_the_list_and_sources_that_disagree_are_warnings() {
    let dearer = with_prices(
        "m",
        r#"{ billing_unit = "tokens", standard = { input = 1_000_001, output = 2_000_000 } }"#,
        LLM,
    );
    let findings = found(&dearer);
    assert_eq!(codes(&dearer), ["warning above_list"]);
    assert_eq!(
        findings[0].text,
        "input is sold at 1.000001 USD for 1M tokens and listed at 1"
    );
    let mut disputed = clean("m", LLM);
    let list = &mut disputed.models.get_mut("m").unwrap().list;
    let mut other = list[0].clone();
    other
        .faces
        .insert(trunkline_types::Face::Input, "0.9".to_owned());
    list.push(other);
    assert_eq!(codes(&disputed), ["warning sources_disagree"]);
}

#[test]
fn listed_faces_not_sold_and_unknown_listed_tiers_are_warnings() {
    let mut document = clean("m", LLM);
    let list = &mut document.models.get_mut("m").unwrap().list;
    list[0]
        .faces
        .insert(trunkline_types::Face::CacheRead, "0.1".to_owned());
    assert_eq!(codes(&document), ["warning list_face_not_sold"]);
    let mut document = clean("m", LLM);
    let list = &mut document.models.get_mut("m").unwrap().list;
    let mut of_tier = list[0].clone();
    of_tier.tier = Some("priority".to_owned());
    list.push(of_tier);
    assert_eq!(codes(&document), ["warning list_tier_unknown"]);
}

#[test]
fn an_image_billed_as_text_warns_and_an_unbillable_endpoint_is_an_error() {
    let seeing = clean(
        "m",
        r#"specs = { type = "llm", input_modalities = ["text", "image", "audio"], output_modalities = ["audio"] }"#,
    );
    let findings = found(&seeing);
    assert_eq!(codes(&seeing), ["warning face_unpriced"]);
    assert!(
        findings[0]
            .text
            .starts_with("image_input, audio_input, audio_output has no price"),
        "{}",
        findings[0].text
    );
    for (endpoint, kind) in [
        ("image-generation", "image"),
        ("openai-video", "video"),
        ("audio-transcription", "asr"),
    ] {
        let more = format!("endpoints = [\"{endpoint}\"]\nspecs = {{ type = \"{kind}\" }}");
        assert_eq!(
            codes(&clean("m", &more)),
            ["error face_unpriced"],
            "{endpoint}"
        );
    }
    let speech = clean("m", r#"endpoints = ["audio-speech"]"#);
    assert_eq!(codes(&speech), ["error face_unpriced"]);
    let realtime = clean("m", r#"endpoints = ["realtime"]"#);
    assert_eq!(codes(&realtime), [""; 0]);
}

/// A model with one tier, priced and listed like the default one.
fn tier(when: &str, more: &str) -> Document {
    let prices = format!(
        r#"{{ billing_unit = "tokens", standard = {{ input = 1_000_000, output = 2_000_000 }}, tiers = [{{ tier = "t", standard = {{ input = 1_000_000, output = 2_000_000 }}, when = [{when}] }}] }}"#
    );
    let mut document = with_prices("m", &prices, more);
    let list = &mut document.models.get_mut("m").unwrap().list;
    let mut of_tier = list[0].clone();
    of_tier.tier = Some("t".to_owned());
    list.push(of_tier);
    document
}

#[test]
fn an_unreachable_tier_is_an_error() {
    let context = r#"{ dim = "context_len", context_len_gt = 200_000 }"#;
    let reachable = r#"specs = { type = "llm", max_input_tokens = 200_001 }"#;
    assert_eq!(codes(&tier(context, reachable)), [""; 0]);
    let attribute = r#"{ dim = "request_attr", path = "service_tier", equals = "priority" }"#;
    assert_eq!(codes(&tier(attribute, LLM)), [""; 0]);
    let resolution = r#"{ dim = "request_attr", path = "resolution", equals = "480P" }"#;
    let night = r#"{ dim = "wall_clock", timezone = "UTC", weekdays = [1], hours = [0] }"#;
    let morning = r#"{ dim = "wall_clock", timezone = "UTC", weekdays = [1], hours = [8] }"#;
    let never = [
        (
            context.to_owned(),
            r#"specs = { type = "llm", max_input_tokens = 200_000 }"#,
        ),
        (
            context.to_owned(),
            r#"specs = { type = "llm", context_window = 128_000 }"#,
        ),
        (
            attribute.to_owned(),
            "specs = { type = \"llm\" }\nparameters = { service_tier = \"drop\" }",
        ),
        (
            attribute.to_owned(),
            "specs = { type = \"llm\" }\nparameters = { service_tier = \"refuse\" }",
        ),
        (
            resolution.to_owned(),
            r#"specs = { type = "llm", resolutions = ["720P"] }"#,
        ),
        (format!("{night}, {morning}"), LLM),
        (
            format!("{attribute}, {}", attribute.replace("priority", "flex")),
            LLM,
        ),
    ];
    for (when, more) in never {
        let document = tier(&when, more);
        assert!(
            codes(&document).contains(&"error tier_unreachable".to_owned()),
            "{when} {more}: {:?}",
            found(&document)
        );
    }
    let passing = "specs = { type = \"llm\" }\nparameters = { service_tier = \"pass\" }";
    assert_eq!(codes(&tier(attribute, passing)), [""; 0]);
}

#[test]
fn an_endpoint_type_that_no_provider_speaks_is_an_error() {
    let document = clean("m", LLM);
    let only_chat = |endpoint: EndpointType| endpoint == EndpointType::Openai;
    let findings = lint(&document, &only_chat);
    let texts: Vec<&str> = findings
        .iter()
        .map(|finding| finding.text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "no provider can serve anthropic",
            "no provider can serve openai-response"
        ]
    );
    assert!(
        findings
            .iter()
            .all(|finding| finding.code == "endpoint_unspoken")
    );
    // What has no path needs no vendor.
    let silent = clean(
        "m",
        "endpoints = [\"system-one\"]\nspecs = { type = \"decision\" }",
    );
    assert!(lint(&silent, &|_| false).is_empty());
}

#[test]
fn the_gemini_path_belongs_to_names_that_begin_with_gemini() {
    let more = "endpoints = [\"openai\", \"gemini\"]\nspecs = { type = \"llm\" }";
    assert_eq!(codes(&clean("gemini-9", more)), [""; 0]);
    for other in ["my-gemini-9", "Gemini-9", "gemini"] {
        assert_eq!(
            codes(&clean(other, more)),
            ["error gemini_endpoint_on_other_model"],
            "{other}"
        );
    }
}

#[test]
fn a_chat_model_lists_one_of_the_three_formats() {
    let only = |endpoint: &str| {
        clean(
            "gemini-9",
            &format!("endpoints = [\"{endpoint}\"]\nspecs = {{ type = \"llm\" }}"),
        )
    };
    for good in ["openai", "anthropic", "openai-response"] {
        assert_eq!(codes(&only(good)), [""; 0], "{good}");
    }
    assert_eq!(codes(&only("gemini")), ["error chat_without_format"]);
    assert_eq!(codes(&only("realtime")), ["error chat_without_format"]);
}

#[test]
fn vendor_and_regions_must_be_known() {
    let mut document = clean("m", LLM);
    document.models.get_mut("m").unwrap().vendor = Some("nobody".to_owned());
    assert_eq!(codes(&document), ["error vendor_unknown"]);
    document.models.get_mut("m").unwrap().vendor = None;
    assert_eq!(codes(&document), ["warning vendor_missing"]);
    let mut document = clean("m", LLM);
    document
        .models
        .get_mut("m")
        .unwrap()
        .groups
        .push("gold".to_owned());
    assert_eq!(codes(&document), ["error group_unknown"]);
    let mut document = clean("m", LLM);
    let group = document.groups["default"].clone();
    document.groups.insert("vip".to_owned(), group);
    let findings = found(&document);
    assert_eq!(codes(&document), ["warning group_unused"]);
    assert_eq!(findings[0].model, None);
}

#[test]
fn a_record_without_words_is_warned_about() {
    let mut document = clean("m", "");
    assert_eq!(codes(&document), ["warning kind_missing"]);
    let entry = document.models.get_mut("m").unwrap();
    entry.tasks.clear();
    entry.description = Some(" ".to_owned());
    assert_eq!(
        codes(&document),
        ["warning description_missing", "warning tasks_missing"]
    );
    let hidden = clean("m", "login_required = true\nspecs = { type = \"llm\" }");
    assert_eq!(codes(&hidden), ["warning login_required"]);
    let uncallable = clean("m", "endpoints = []");
    assert_eq!(codes(&uncallable), ["warning no_endpoint"]);
}

#[test]
fn cells_of_social_data_need_no_vendor_no_kind_and_no_endpoint() {
    let mut document = clean("social-douyin-search", "endpoints = []");
    let entry = document.models.values_mut().next().unwrap();
    entry.tasks = vec!["social-data".to_owned()];
    entry.vendor = None;
    assert_eq!(codes(&document), [""; 0]);
}

#[test]
fn what_loading_refuses_is_an_error_and_errors_come_first() {
    let mut document = clean("b", LLM);
    let mut broken = document.models["b"].clone();
    broken.tags = vec!["a,b".to_owned()];
    broken.login_required = true;
    document.models.insert("a".to_owned(), broken.clone());
    document.models.insert("c".to_owned(), broken);
    document.auto_groups = vec!["nowhere".to_owned()];
    let findings = found(&document);
    let seen: Vec<(Option<&str>, &str)> = findings
        .iter()
        .map(|finding| (finding.model.as_deref(), finding.code))
        .collect();
    assert_eq!(
        seen,
        [
            (None, "refused"),
            (Some("a"), "refused"),
            (Some("c"), "refused"),
            (Some("a"), "login_required"),
            (Some("c"), "login_required"),
        ]
    );
}

#[test]
fn findings_are_written_with_their_words_for_programs() {
    let hidden = clean("m", "login_required = true\nspecs = { type = \"llm\" }");
    let json = serde_json::to_value(found(&hidden)).unwrap();
    assert_eq!(json[0]["severity"], "warning");
    assert_eq!(json[0]["code"], "login_required");
    assert_eq!(json[0]["model"], "m");
}

#[test]
fn stale_prices_are_listed_with_the_oldest_first() {
    // 2026-11-15T12:00:00Z.
    let now = Timestamp::from_micros(1_794_744_000_000_000);
    let mut document = clean("m", LLM);
    let list = &mut document.models.get_mut("m").unwrap().list;
    let price = |read_on: &str, tier: Option<&str>| {
        let mut price = list[0].clone();
        price.read_on = read_on.to_owned();
        price.tier = tier.map(str::to_owned);
        price
    };
    let prices = vec![
        price("2026-11-15", None),
        price("2026-08-17", None),
        price("2026-08-16", Some("peak")),
        price("2025-11-15", None),
        price("yesterday", None),
        price("2027-01-01", None),
    ];
    document.models.get_mut("m").unwrap().list = prices;
    let ages = |days: u32| -> Vec<Option<i32>> {
        stale(&document, now, days)
            .iter()
            .map(|price| price.age_days)
            .collect()
    };
    // Ninety days are not yet too many, ninety-one are.
    assert_eq!(ages(90), [None, Some(365), Some(91)]);
    assert_eq!(ages(91), [None, Some(365)]);
    assert_eq!(ages(0), [None, Some(365), Some(91), Some(90)]);
    assert_eq!(ages(u32::MAX), [None]);
    let oldest = &stale(&document, now, 90)[2];
    assert_eq!(oldest.tier.as_deref(), Some("peak"));
    assert_eq!(
        (oldest.model.as_str(), oldest.source.as_str()),
        ("m", "acme.example")
    );
}
