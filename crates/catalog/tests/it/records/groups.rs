//! Groups: whose multiplier a record shows, where a model is sold, which group `auto` takes.

use serde_json::json;
use trunkline_catalog::{Book, GroupChoice, Unavailable};

use super::{fixture, seen_from, served};

const TWO: &str = r#"
auto_groups = ["first", "second"]

[groups.first]
rate = "1/2"

[groups.second]
rate = "1"

[groups.third]
rate = "2"

[models.everywhere]
groups = ["first", "second", "third"]
prices = { billing_unit = "tokens", standard = { input = 2_000_000, output = 2_000_000 } }

[models.later]
groups = ["second"]
prices = { billing_unit = "tokens", standard = { input = 2_000_000, output = 2_000_000 } }

[models.apart]
groups = ["third"]
prices = { billing_unit = "tokens", standard = { input = 2_000_000, output = 2_000_000 } }
"#;

// covers: G-2.6-46, G-2.6-47, D-2-32
#[test]
fn billing_rate_is_the_group_multiplier_with_its_source() {
    let book = fixture("chat");
    let usual = seen_from(&book, "default");
    assert_eq!(usual["billing_rate"], json!(1));
    assert_eq!(usual["billing_rate_source"], "default");
    let dearer = seen_from(&book, "vip");
    assert_eq!(dearer["billing_rate"], json!(1.33));
    assert_eq!(dearer["billing_rate_source"], "vip");
    // The faces stay; the multiplier stands beside them.
    assert_eq!(usual["book_faces"], dearer["book_faces"]);
    assert_eq!(usual["model_ratio"], dearer["model_ratio"]);
    assert_eq!(served(&fixture("decision"))["billing_rate"], json!(0.9));
    assert_eq!(served(&fixture("decision"))["billing_rate_source"], "vip");
}

// covers: D-2-28
#[test]
fn a_model_is_sold_in_its_groups_and_in_no_other() {
    let book = Book::from_toml(TWO).unwrap();
    let offered = |model: &str, group: &str| {
        let offer = book.offer(model, GroupChoice::Named(group));
        offer.map(|(group, offer)| (group.to_owned(), offer.rate.to_string()))
    };
    assert_eq!(
        offered("later", "second"),
        Ok(("second".to_owned(), "1".to_owned()))
    );
    assert_eq!(offered("later", "first"), Err(Unavailable::OtherGroups));
    assert_eq!(
        offered("everywhere", "first"),
        Ok(("first".to_owned(), "1/2".to_owned()))
    );
    assert_eq!(
        offered("nothing", "first"),
        Err(Unavailable::UnknownModel("nothing".to_owned()))
    );
}

// covers: D-2-29
#[test]
fn auto_takes_the_first_of_the_auto_groups_that_sells_the_model() {
    let book = Book::from_toml(TWO).unwrap();
    let group = |model: &str| book.offer(model, GroupChoice::Auto).map(|(group, _)| group);
    assert_eq!(book.auto_groups(), ["first", "second"]);
    assert_eq!(group("everywhere"), Ok("first"));
    assert_eq!(group("later"), Ok("second"));
    assert_eq!(group("apart"), Err(Unavailable::OtherGroups));
    let turned = TWO.replace(r#"["first", "second"]"#, r#"["second", "first"]"#);
    let book = Book::from_toml(&turned).unwrap();
    let (group, _) = book.offer("everywhere", GroupChoice::Auto).unwrap();
    assert_eq!(group, "second");
}

// covers: D-7-MON-09, D-7-MON-10
#[test]
fn every_record_carries_the_same_pricing_version() {
    let book = Book::from_toml(TWO).unwrap();
    let version = book.version().to_string();
    assert!(version.len() == 64 && version.bytes().all(|byte| byte.is_ascii_hexdigit()));
    for group in ["first", "second", "third"] {
        let view = trunkline_catalog::View { book: &book, group };
        for name in book.models() {
            let record = view.record(name, Default::default()).unwrap();
            let record = serde_json::to_value(&record).unwrap();
            assert_eq!(
                record["pricing_version"],
                json!(version),
                "{name} in {group}"
            );
        }
    }
}
