//! Prices: of past calls line by line, and the catalog as a signed-in person sees it.

use serde_json::json;
use trunkline_catalog::{Book, Document};
use trunkline_ledger::accounts::Wallet;
use trunkline_store::catalog::{self, NewChange};
use trunkline_store::people::Role;
use trunkline_types::{Face, Units};

use crate::client::{ask, request};
use crate::customer::harness::{CallSpec, CustomerConsole, field};
use crate::fake_catalog::CATALOG;

/// Writes a catalog as `trunkline catalog apply` does; returns the version of its prices.
async fn publish(harness: &CustomerConsole, text: &str) -> [u8; 32] {
    let version = Book::from_toml(text).unwrap().version().bytes();
    let (frame, models) = Document::from_toml(text).unwrap().into_parts();
    let frame = serde_json::to_value(frame).unwrap();
    let models: Vec<_> = models
        .into_iter()
        .map(|(name, entry)| (name, Some(serde_json::to_value(entry).unwrap())))
        .collect();
    let change = NewChange {
        pricing_version: version,
        author: "a test",
        note: "",
        header: Some(&frame),
        models: &models,
    };
    let mut tx = harness.people.begin().await.unwrap();
    let number = catalog::next_number(&mut tx).await.unwrap();
    catalog::write(&mut tx, number, &change).await.unwrap();
    tx.commit().await.unwrap();
    version
}

#[tokio::test]
async fn a_past_calls_price_is_shown_by_line_under_its_price_version() {
    let harness = CustomerConsole::new().await;
    let version = publish(&harness, CATALOG).await;
    let account = harness.firm("Acme", 100_000_000, 0).await;
    let browser = harness.member(account, Role::Viewer).await;
    let units = Units::none()
        .plus(Face::Input, 1_000)
        .and_then(|units| units.plus(Face::Output, 200))
        .unwrap();
    // Who topped up pays 1.5 and 6 USD a million.
    let spec = |nanos| CallSpec {
        nanos,
        units: units.clone(),
        price_version: version,
        ..CallSpec::default()
    };
    let request = harness.call(account, spec(2_700_000)).await;
    let odd = harness.call(account, spec(2_700_001)).await;
    // Prices change; what was sold stays sold as it was.
    publish(
        &harness,
        &CATALOG.replace("paid = { input = 1500000", "paid = { input = 1700000"),
    )
    .await;
    let view = harness
        .read(&browser, &format!("/api/logs/{request}"))
        .await;
    assert_eq!(
        view["lines"],
        json!([
            { "face": "input", "units": 1000, "price_usd_per_million": "1.5", "amount_usd": "0.0015", "tier": "standard" },
            { "face": "output", "units": 200, "price_usd_per_million": "6", "amount_usd": "0.0012", "tier": "standard" },
        ])
    );
    let view = harness.read(&browser, &format!("/api/logs/{odd}")).await;
    assert!(
        view["lines"].is_null(),
        "lines that do not explain the charge are not shown"
    );
}

#[tokio::test]
async fn an_account_without_a_top_up_sees_the_standard_price() {
    let harness = CustomerConsole::new().await;
    let version = publish(&harness, CATALOG).await;
    let account = harness.firm("Acme", 0, 100_000_000).await;
    let browser = harness.member(account, Role::Viewer).await;
    let spec = CallSpec {
        nanos: 2_000_000,
        units: Units::none().plus(Face::Input, 1_000).unwrap(),
        price_version: version,
        ..CallSpec::default()
    };
    let request = harness.call(account, spec).await;
    harness.pay(account, Wallet::Paid, 5, "manual").await;
    let view = harness
        .read(&browser, &format!("/api/logs/{request}"))
        .await;
    assert_eq!(view["lines"][0]["price_usd_per_million"], "2");
}

#[tokio::test]
async fn a_signed_in_person_sees_the_catalog_of_their_organisation() {
    let harness = CustomerConsole::new().await;
    let account = harness.firm("Acme", 0, 0).await;
    let browser = harness.member(account, Role::Viewer).await;
    let names =
        |got: &crate::client::Response| field(got.json()["data"].as_array().unwrap(), "model_name");
    let stranger = ask(&harness.console, request(http::Method::GET, "/api/pricing")).await;
    assert_eq!(names(&stranger), ["open-chat", "painter"]);
    let own = harness.get(&browser, "/api/pricing").await;
    assert_eq!(names(&own), ["members-only", "open-chat", "painter"]);
    let repeated = ask(&harness.console, request(http::Method::GET, "/api/pricing")).await;
    assert_eq!(
        names(&repeated),
        ["open-chat", "painter"],
        "what is kept is not mixed up"
    );
    let cells = harness.get(&browser, "/api/social/catalog").await;
    assert_eq!(cells.status.as_u16(), 200);
}
