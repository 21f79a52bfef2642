//! The starter catalog: it loads, it lints without errors, and it holds what it should.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use trunkline_catalog::{
    Book, Document, Entry, ModelKind, Severity, View, first_breach, lint, starter, starter_files,
};
use trunkline_types::{BillingUnit, EndpointType};

fn whole() -> Document {
    starter().unwrap()
}

/// The names of the models that are so.
fn having(document: &Document, is: impl Fn(&Entry) -> bool) -> Vec<&str> {
    let models = document.models.iter().filter(|(_, entry)| is(entry));
    models.map(|(name, _)| name.as_str()).collect()
}

fn has_task(entry: &Entry, task: &str) -> bool {
    entry.tasks.iter().any(|word| word == task)
}

#[test]
fn the_starter_catalog_loads_and_lints_without_errors() {
    let document = whole();
    let findings = lint(&document, &EndpointType::is_callable);
    let (errors, warnings): (Vec<_>, Vec<_>) = findings
        .into_iter()
        .partition(|finding| finding.severity == Severity::Error);
    assert!(errors.is_empty(), "{errors:#?}");
    Book::check(document).unwrap();
    // Each kind of warning that is left is explained where people look for it.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dev/starter-catalog.md");
    let text = String::from_utf8(std::fs::read(path).unwrap()).unwrap();
    let (_, explained) = text
        .split_once("## Warnings of the starter catalog")
        .unwrap();
    let codes: BTreeSet<&str> = warnings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, BTreeSet::from(["face_unpriced", "sources_disagree"]));
    for code in codes {
        assert!(explained.contains(&format!("`{code}`")), "{code}");
    }
}

#[test]
fn a_customer_sees_an_icon_and_tags_on_every_record_and_a_replacement_on_those_that_end() {
    let document = whole();
    let book = Book::check(whole()).unwrap();
    let mut ending = 0;
    for (name, entry) in &document.models {
        assert!(
            book.icon(entry).is_some_and(|icon| !icon.is_empty()),
            "{name} has no icon"
        );
        assert!(!entry.tags.is_empty(), "{name} has no tags");
        assert_eq!(
            entry.sunset_on.is_some(),
            entry.replaced_by.is_some(),
            "{name}"
        );
        let Some(other) = &entry.replaced_by else {
            continue;
        };
        let other = document
            .models
            .get(other)
            .unwrap_or_else(|| panic!("{name}: {other}"));
        let mut endpoints = entry.endpoints.iter();
        assert!(endpoints.any(|endpoint| other.serves(*endpoint)), "{name}");
        assert!(
            other.sunset_on.is_none(),
            "{name}: its replacement ends too"
        );
        ending += 1;
    }
    assert!(ending >= 6, "{ending}");
}

// covers: G-1-06
#[test]
fn a_customer_reaches_every_chat_model_through_one_of_the_three_chat_formats() {
    let document = whole();
    let is_chat = |entry: &Entry| entry.specs.kind == Some(ModelKind::Llm);
    let formats = [
        EndpointType::Openai,
        EndpointType::Anthropic,
        EndpointType::OpenaiResponse,
    ];
    assert!(having(&document, is_chat).len() > 40);
    let unreachable = having(&document, |entry| {
        is_chat(entry) && !formats.iter().any(|format| entry.serves(*format))
    });
    assert_eq!(unreachable, Vec::<&str>::new());
}

#[test]
fn every_vendor_has_one_file_of_its_name() {
    let mut vendors = BTreeMap::new();
    for (file, text) in starter_files() {
        let part = Document::from_toml(text).unwrap();
        if file == "groups" {
            assert!(part.models.is_empty() && part.vendors.is_empty());
            assert_eq!(part.groups["default"].rate.to_string(), "1");
            continue;
        }
        assert!(
            part.groups.is_empty() && part.auto_groups.is_empty(),
            "{file}"
        );
        assert_eq!(part.vendors.keys().collect::<Vec<_>>(), [file]);
        for (name, entry) in &part.models {
            assert_eq!(entry.vendor.as_deref(), Some(file), "{name}");
        }
        vendors.insert(part.vendors[file].id, file);
    }
    assert!(vendors.len() >= 15, "{vendors:?}");
}

#[test]
fn there_are_at_least_sixty_models_of_every_kind() {
    let document = whole();
    assert!(document.models.len() >= 60);
    let kinds = [
        (ModelKind::Llm, 40),
        (ModelKind::Image, 5),
        (ModelKind::Video, 12),
        (ModelKind::Asr, 4),
        (ModelKind::Music, 1),
    ];
    for (kind, at_least) in kinds {
        let models = having(&document, |entry| entry.specs.kind == Some(kind));
        assert!(models.len() >= at_least, "{kind:?}: {models:?}");
    }
    for task in ["text-to-speech", "embeddings", "rerank", "moderation"] {
        assert!(
            !having(&document, |entry| has_task(entry, task)).is_empty(),
            "{task}"
        );
    }
    assert!(!having(&document, |entry| entry.serves(EndpointType::Realtime)).is_empty());
}

#[test]
fn every_price_of_every_tier_has_a_source_with_a_day() {
    let document = whole();
    for (name, entry) in &document.models {
        let tiers = entry
            .prices
            .tiers
            .iter()
            .map(|tier| Some(tier.tier.as_str()));
        for tier in std::iter::once(None).chain(tiers) {
            let mut sources = entry
                .list
                .iter()
                .filter(|price| price.tier.as_deref() == tier);
            let listed = |price: &trunkline_catalog::ListPrice| {
                price.source.contains("litellm 1.108.4") || price.source.starts_with("https://")
            };
            assert!(sources.clone().count() > 0, "{name} {tier:?}");
            assert!(sources.all(listed), "{name} {tier:?}");
        }
    }
}

// covers: D-7-MON-01
#[test]
fn image_records_are_billed_per_call() {
    let document = whole();
    let images = having(&document, |entry| {
        entry.serves(EndpointType::ImageGeneration)
    });
    assert!(images.len() >= 5, "{images:?}");
    for name in images {
        assert_eq!(
            document.models[name].prices.billing_unit,
            BillingUnit::PerCall,
            "{name}"
        );
    }
}

// covers: D-7-MON-14
#[test]
fn embeddings_rerank_and_moderation_records_carry_their_word_and_openai() {
    let document = whole();
    for task in ["embeddings", "rerank", "moderation"] {
        let names = having(&document, |entry| has_task(entry, task));
        assert!(!names.is_empty(), "{task}");
        for name in names {
            assert_eq!(
                document.models[name].endpoints,
                [EndpointType::Openai],
                "{name}"
            );
        }
    }
}

// covers: D-7-MON-21
#[test]
fn megabytes_and_gigabytes_of_upload_limits_are_powers_of_1000() {
    let document = whole();
    let limits = |name: &str| {
        let specs = &document.models[name].specs;
        (specs.max_upload_seconds, specs.max_upload_bytes)
    };
    // 30 s and 25 MB; 5 minutes and 2 GB.
    assert_eq!(limits("glm-asr-2512"), (Some(30), Some(25_000_000)));
    assert_eq!(limits("qwen3-asr-flash"), (Some(300), Some(2_000_000_000)));
}

#[test]
fn the_video_families_have_their_tiers() {
    let document = whole();
    let sold = |name: &str| -> Vec<(String, u64)> {
        let tiers = document.models[name].prices.tiers.iter();
        tiers
            .map(|tier| {
                let price = tier.standard[&trunkline_types::Face::VideoSecond];
                (tier.tier.clone(), price.pico())
            })
            .collect()
    };
    // A has two tiers and no 480P; E has three.
    for name in ["wan2.7-t2v", "wan2.7-i2v", "wan2.7-r2v"] {
        let names: Vec<String> = sold(name).into_iter().map(|(tier, _)| tier).collect();
        assert_eq!(names, ["720p", "1080p"], "{name}");
    }
    for name in [
        "happyhorse-1.1-t2v",
        "happyhorse-1.1-i2v",
        "happyhorse-1.1-r2v",
    ] {
        assert_eq!(sold(name).len(), 3, "{name}");
    }
    // C multi-image: pro at 1.33 times, 4k at 5 times the listed price.
    let listed = 84_000_000_000_u64;
    let omni: BTreeMap<String, u64> = sold("kling-v3-omni").into_iter().collect();
    assert_eq!(omni["std"], listed);
    assert_eq!(omni["pro"], listed * 133 / 100);
    assert_eq!(omni["4k"], listed * 5);
    assert_eq!(document.models["wan2.7-r2v"].specs.max_references, Some(5));
    let newest = &document.models["doubao-seedance-2-5-260628"].specs;
    assert_eq!(
        (
            newest.max_reference_images,
            newest.max_reference_videos,
            newest.max_reference_audios
        ),
        (Some(30), Some(10), Some(10))
    );
    assert_eq!(newest.max_duration_seconds, Some(30));
}

#[test]
fn the_three_restrictions_of_chat_models_are_rules_of_real_ones() {
    let document = whole();
    let breach = |name: &str, request: &'static str| {
        let fields: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(request).unwrap();
        let field = |name: &str| fields.get(name).cloned();
        first_breach(&document.models[name].rules, &field).map(|breach| {
            (
                breach.rule.code.clone(),
                breach.rule.error_code.clone(),
                breach.param,
            )
        })
    };
    let (code, _, param) = breach("gpt-6-sol", r#"{"messages":[{}],"tools":[{}]}"#).unwrap();
    assert_eq!(
        (code.as_str(), param.as_str()),
        ("tool_needs_effort_none", "reasoning_effort")
    );
    for name in ["claude-sonnet-5-5", "claude-opus-5-5", "claude-fable-5-1"] {
        let (code, _, param) = breach(name, r#"{"tool_choice":"required"}"#).unwrap();
        assert_eq!(
            (code.as_str(), param.as_str()),
            ("tool_choice_limited", "tool_choice")
        );
        assert_eq!(breach(name, r#"{"tool_choice":{"type":"auto"}}"#), None);
    }
    let (code, error, param) = breach("M2-her", r#"{"messages":[{"role":"group"}]}"#).unwrap();
    assert_eq!(
        (code.as_str(), param.as_str()),
        ("role_name_missing", "messages[0].name")
    );
    assert_eq!(error.as_deref(), Some("2013"));
}

#[test]
fn every_record_of_the_starter_catalog_can_be_served_in_every_group() {
    let book = Book::check(whole()).unwrap();
    for group in ["default", "vip"] {
        let view = View { book: &book, group };
        for name in book.models() {
            let record = view.record(name, Default::default()).unwrap();
            let record = serde_json::to_value(&record).unwrap();
            assert_eq!(record["model_name"], name);
            let verdict = record["vendor_list"]["verdict"].as_str().unwrap();
            assert_ne!(verdict, "unverified", "{name}");
        }
    }
}
