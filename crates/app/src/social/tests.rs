//! Records of cells, without a database.

use trunkline_catalog::{Severity, lint};
use trunkline_types::EndpointType;

use super::*;

fn cell(platform: &str, capability: &str) -> std::sync::Arc<Cell> {
    let cells = builtin().unwrap();
    let cell = cells.get(platform, capability).unwrap();
    std::sync::Arc::clone(cell)
}

#[test]
fn the_starter_sells_exactly_the_cells_with_a_published_price_at_it() {
    let document = starter().unwrap();
    let cells = builtin().unwrap();
    let (mut priced, mut unpriced) = (0, 0);
    // Those of the specification; a new platform adds to them.
    let named = |cell: &&std::sync::Arc<Cell>| {
        let number: u32 = cell.platform.label.trim_start_matches('P').parse().unwrap();
        number <= 20
    };
    for cell in cells.all().filter(named) {
        let Some(price) = cell.price else {
            assert!(!document.models.contains_key(&cell.model), "{}", cell.model);
            unpriced += 1;
            continue;
        };
        let entry = &document.models[&cell.model];
        let sold = entry.prices.standard[&Face::PerCall].pico();
        assert_eq!(i64::try_from(sold).unwrap(), price.nanos() * 1_000);
        assert_eq!(entry.groups, ["default", "vip"]);
        assert_eq!(
            (entry.endpoints.len(), entry.tasks.join(" ").as_str()),
            (0, "social-data")
        );
        priced += 1;
    }
    assert_eq!((priced, unpriced), (75, 26), "of the 101 cells");
    let search = &document.models["social-douyin-search"];
    assert_eq!(
        search.description.as_deref(),
        Some(
            "Finds public posts on Douyin. One page is one call; a call without a result is free."
        )
    );
    assert_eq!(search.list[0].faces[&Face::PerCall], "0.02");
}

#[test]
fn the_starter_with_its_cells_loads_and_lints_without_errors() {
    let document = starter().unwrap();
    let findings = lint(&document, &EndpointType::is_callable);
    let wrong: Vec<_> = findings
        .iter()
        .filter(|one| {
            let social = one
                .model
                .as_deref()
                .is_some_and(|name| name.starts_with("social-"));
            one.severity == Severity::Error || social
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    Book::check(document).unwrap();
}

#[test]
fn a_cell_without_a_published_price_is_proposed_at_twice_its_cost() {
    let published = proposal(&cell("douyin", "search")).unwrap();
    assert_eq!(published.basis, Basis::Published);
    assert_eq!(published.price.to_string(), "0.02");
    let unpriced = cell("lemon8", "search");
    let proposed = proposal(&unpriced).unwrap();
    assert_eq!(proposed.basis, Basis::TwiceTheCost);
    assert_eq!(proposed.price.nanos(), 2 * unpriced.cost.usd.nanos());
    // Customers see the record: what the source asks is not in it.
    let book = Book::check(starter().unwrap()).unwrap();
    let entry = priced(&unpriced, proposed, &book).unwrap();
    let json = serde_json::to_string(&entry).unwrap();
    assert!(!json.contains(&unpriced.cost.source), "{json}");
    assert!(!is_priced(&book, &unpriced));
    let change = [(unpriced.model.clone(), Some(entry))];
    let after = book.changed(None, change).unwrap();
    assert!(is_priced(&after, &unpriced));
}

#[test]
fn an_existing_record_changes_only_its_prices_and_adds_no_group() {
    let text = r#"
[groups.vip]
rate = "1"
[models.social-lemon8-search]
groups = ["vip"]
description = "Ours."
endpoints = []
tasks = ["social-data"]
prices = { billing_unit = "tokens", standard = { input = 1, output = 1 } }
"#;
    let book = Book::from_toml(text).unwrap();
    let [there, new] = [cell("lemon8", "search"), cell("lemon8", "post")];
    assert!(!is_priced(&book, &there), "tokens are no price of a call");
    let entry = priced(&there, proposal(&there).unwrap(), &book).unwrap();
    assert_eq!(entry.description.as_deref(), Some("Ours."));
    assert_eq!(entry.prices.billing_unit, BillingUnit::PerCall);
    let entry = priced(&new, proposal(&new).unwrap(), &book).unwrap();
    assert_eq!(entry.groups, ["vip"]);
    let refused = priced(&new, proposal(&new).unwrap(), &Book::empty()).unwrap_err();
    assert!(refused.to_string().contains("catalog import --starter"));
}
