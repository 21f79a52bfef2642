//! Files of platforms that are wrong are refused with the reason, and one that is right is a platform.

use trunkline_social::Cells;

const GOOD: &str = r#"
label = "P21"
key = "plaza"
name = "Plaza"

[cells.search]
price_usd = "0.01"
method = "GET"
path = "/api/v1/plaza/search"
on_400 = "try_again"
cost = { usd = "0.005", source = "invented", read_on = "2026-11-15" }
require_one_of = [["keyword", "token"]]
[cells.search.result]
some_of = ["/items"]
[cells.search.paging]
carry = [{ param = "token", from = ["/next"] }]
[[cells.search.params]]
name = "keyword"
type = "string"
description = "What to look for. / 关键词。"
[[cells.search.params]]
name = "token"
type = "string"
description = "Of the page before. / 上一页。"
"#;

#[test]
fn a_platform_is_one_file() {
    let mut cells = Cells::builtin().unwrap();
    let before = cells.all().count();
    cells.add("plaza", GOOD).unwrap();
    assert_eq!(cells.all().count(), before + 1);
    let cell = cells.get("plaza", "search").unwrap();
    assert_eq!(cell.model, "social-plaza-search");
    assert_eq!(cells.by_model("social-plaza-search"), Some(cell));
    assert!(cells.get("plaza", "post").is_none());
    assert!(cells.get("plaza", "sing").is_none());
    assert!(cells.knows("plaza"));
    // A file of the same name replaces it.
    cells.add("plaza", &GOOD.replace("0.01", "0.03")).unwrap();
    assert_eq!(cells.all().count(), before + 1);
}

#[test]
fn a_file_that_is_wrong_is_refused_with_the_reason() {
    for (from, to, why) in [
        ("key = \"plaza\"", "key = \"other\"", "is not its name"),
        ("label = \"P21\"", "lable = \"P21\"", "unknown field"),
        ("[cells.search]", "[cells.sing]", "missing field"),
        ("\"GET\"", "\"PUT\"", "neither GET nor POST"),
        (
            "\"try_again\"",
            "\"perhaps\"",
            "neither not_found nor try_again",
        ),
        ("price_usd = \"0.01\"", "price_usd = \"0\"", "is no price"),
        (
            "price_usd = \"0.01\"",
            "price_usd = \"cheap\"",
            "not a decimal amount",
        ),
        ("source = \"invented\"", "source = \"\"", "needs a source"),
        ("[\"/items\"]", "[\"items\"]", "no JSON pointer"),
        (
            "some_of = [\"/items\"]",
            "some_of = []",
            "where do its data lie",
        ),
        (
            "/api/v1/plaza",
            "https://elsewhere",
            "no path of the source",
        ),
        (
            "[[\"keyword\", \"token\"]]",
            "[[\"keyword\", \"tokn\"]]",
            "no parameter of it",
        ),
        (
            "[[\"keyword\", \"token\"]]",
            "[[\"keyword\"]]",
            "two members",
        ),
        (
            "param = \"token\"",
            "param = \"page\"",
            "no parameter of it",
        ),
        (
            "[[cells.search.params]]",
            "[[cells.search.params]]\nname = \"keyword\"\ntype = \"string\"\ndescription = \"a\"\n[[cells.search.params]]",
            "twice",
        ),
        (
            "[{ param = \"token\", from = [\"/next\"] }]",
            "[]",
            "nothing moves",
        ),
        ("type = \"string\"", "type = \"text\"", "is no type"),
        (
            "type = \"string\"",
            "type = \"integer\"\nexample = \"a\"",
            "is no integer",
        ),
    ] {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let mut cells = Cells::default();
        let error = cells.add("plaza", &text).unwrap_err().to_string();
        assert!(error.contains(why), "{from} as {to}: {error}");
        assert!(error.starts_with("plaza.toml: "), "{error}");
    }
}
