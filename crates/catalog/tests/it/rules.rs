//! Rules of single models: when they are broken, when they hold, which of them are refused.

use trunkline_catalog::{Book, Rule, first_breach};

fn rule(toml: &str) -> Rule {
    let text = format!(
        "[groups.g]\nrate = \"1\"\n[models.m]\ngroups = [\"g\"]\nprices = {{ billing_unit = \"tokens\", standard = {{ input = 1, output = 1 }} }}\n[[models.m.rules]]\n{toml}"
    );
    let book = Book::from_toml(&text).unwrap_or_else(|error| panic!("{toml}: {error}"));
    book.model("m").unwrap().entry().rules[0].clone()
}

/// The parameter a request breaks the rule with.
fn broken_by(rule: &Rule, request: &str) -> Option<String> {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(request).unwrap();
    let field = |name: &str| fields.get(name).cloned();
    first_breach(std::slice::from_ref(rule), &field).map(|breach| breach.param)
}

fn refusal(toml: &str) -> String {
    let text = format!(
        "[groups.g]\nrate = \"1\"\n[models.m]\ngroups = [\"g\"]\nprices = {{ billing_unit = \"tokens\", standard = {{ input = 1, output = 1 }} }}\n[[models.m.rules]]\n{toml}"
    );
    Book::from_toml(&text).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn one_of_takes_the_words_it_names_and_an_absent_field_only_if_it_says_so() {
    let strict = rule(
        r#"code = "c"
must = { field = "effort", one_of = ["none", "1", "true"] }
fix = "f""#,
    );
    for good in [
        r#"{"effort":"none"}"#,
        r#"{"effort":1}"#,
        r#"{"effort":true}"#,
    ] {
        assert_eq!(broken_by(&strict, good), None, "{good}");
    }
    for bad in [
        "{}",
        r#"{"effort":null}"#,
        r#"{"effort":"None"}"#,
        r#"{"effort":["none"]}"#,
        r#"{"effort":2}"#,
        r#"{"effort":{"level":"none"}}"#,
    ] {
        assert_eq!(broken_by(&strict, bad).as_deref(), Some("effort"), "{bad}");
    }
    let lenient = rule(
        r#"code = "c"
must = { field = "effort", one_of = ["none"], or_absent = true }
fix = "f""#,
    );
    assert_eq!(broken_by(&lenient, "{}"), None);
    assert_eq!(broken_by(&lenient, r#"{"effort":null}"#), None);
    assert!(broken_by(&lenient, r#"{"effort":"low"}"#).is_some());
}

#[test]
fn an_object_is_known_by_its_type() {
    let choice = rule(
        r#"code = "tool_choice_limited"
must = { field = "tool_choice", one_of = ["auto", "none"], or_absent = true }
fix = "f""#,
    );
    for good in [
        "{}",
        r#"{"tool_choice":"auto"}"#,
        r#"{"tool_choice":{"type":"auto"}}"#,
        r#"{"tool_choice":{"type":"none"}}"#,
    ] {
        assert_eq!(broken_by(&choice, good), None, "{good}");
    }
    for bad in [
        r#"{"tool_choice":"required"}"#,
        r#"{"tool_choice":"any"}"#,
        r#"{"tool_choice":{"type":"any"}}"#,
        r#"{"tool_choice":{"type":"tool","name":"f"}}"#,
        r#"{"tool_choice":{"type":"function","function":{"name":"f"}}}"#,
        r#"{"tool_choice":{"type":7}}"#,
    ] {
        assert_eq!(
            broken_by(&choice, bad).as_deref(),
            Some("tool_choice"),
            "{bad}"
        );
    }
}

#[test]
fn present_means_there_and_not_empty() {
    let must = rule("code = \"c\"\nmust = { field = \"name\", present = true }\nfix = \"f\"");
    for good in [
        r#"{"name":"x"}"#,
        r#"{"name":0}"#,
        r#"{"name":false}"#,
        r#"{"name":[0]}"#,
    ] {
        assert_eq!(broken_by(&must, good), None, "{good}");
    }
    for bad in [
        "{}",
        r#"{"name":null}"#,
        r#"{"name":""}"#,
        r#"{"name":[]}"#,
        r#"{"name":{}}"#,
    ] {
        assert!(broken_by(&must, bad).is_some(), "{bad}");
    }
    let must_not = rule("code = \"c\"\nmust = { field = \"name\", present = false }\nfix = \"f\"");
    assert_eq!(broken_by(&must_not, "{}"), None);
    assert_eq!(broken_by(&must_not, r#"{"name":""}"#), None);
    assert!(broken_by(&must_not, r#"{"name":"x"}"#).is_some());
}

#[test]
fn a_rule_applies_only_where_all_its_conditions_hold() {
    let tools = rule(
        r#"code = "tool_needs_effort_none"
when = [{ field = "messages", present = true }, { field = "tools", present = true }]
must = { field = "reasoning_effort", one_of = ["none"] }
fix = "f""#,
    );
    assert_eq!(broken_by(&tools, r#"{"messages":[{}]}"#), None);
    assert_eq!(broken_by(&tools, r#"{"messages":[{}],"tools":[]}"#), None);
    assert_eq!(broken_by(&tools, r#"{"input":"x","tools":[{}]}"#), None);
    assert_eq!(
        broken_by(
            &tools,
            r#"{"messages":[{}],"tools":[{}],"reasoning_effort":"none"}"#
        ),
        None
    );
    assert_eq!(
        broken_by(&tools, r#"{"messages":[{}],"tools":[{}]}"#).as_deref(),
        Some("reasoning_effort")
    );
}

#[test]
fn each_looks_at_every_member_and_names_the_first_that_breaks() {
    let names = rule(
        r#"code = "role_name_missing"
error_code = "2013"
each = "messages"
when = [{ field = "role", one_of = ["user_system", "group"] }]
must = { field = "name", present = true }
fix = "f""#,
    );
    assert_eq!(names.error_code.as_deref(), Some("2013"));
    assert_eq!(
        broken_by(
            &names,
            r#"{"messages":[{"role":"user"},{"role":"group","name":"x"}]}"#
        ),
        None
    );
    assert_eq!(
        broken_by(
            &names,
            r#"{"messages":[{"role":"user"},{"role":"group","name":""},{"role":"user_system"}]}"#
        )
        .as_deref(),
        Some("messages[1].name")
    );
    // What is no list of objects is for others to refuse.
    for other in [
        "{}",
        r#"{"messages":"x"}"#,
        r#"{"messages":[]}"#,
        r#"{"messages":[1]}"#,
    ] {
        assert_eq!(broken_by(&names, other), None, "{other}");
    }
}

#[test]
fn the_first_broken_rule_of_several_is_told() {
    let one = rule("code = \"one\"\nmust = { field = \"a\", present = true }\nfix = \"f\"");
    let two = rule("code = \"two\"\nmust = { field = \"b\", present = true }\nfix = \"f\"");
    let rules = [one, two];
    let nothing = |_: &str| None;
    assert_eq!(first_breach(&rules, &nothing).unwrap().rule.code, "one");
    let with_a = |name: &str| (name == "a").then(|| 1.into());
    assert_eq!(first_breach(&rules, &with_a).unwrap().rule.code, "two");
    let with_all = |_: &str| Some(1.into());
    assert!(first_breach(&rules, &with_all).is_none());
}

#[test]
fn a_rule_that_says_too_little_or_too_much_is_refused() {
    let test = |must: &str| format!("code = \"c\"\nmust = {must}\nfix = \"f\"");
    let neither = refusal(&test("{ field = \"a\" }"));
    assert!(neither.contains("either one_of or present"), "{neither}");
    let both = refusal(&test("{ field = \"a\", one_of = [\"b\"], present = true }"));
    assert!(both.contains("either one_of or present"), "{both}");
    assert!(refusal(&test("{ field = \"a\", one_of = [] }")).contains("from 1 to 16 words"));
    assert!(refusal(&test("{ field = \"\", present = true }")).contains("names a field"));
    assert!(
        refusal("code = \"\"\nmust = { field = \"a\", present = true }\nfix = \"f\"")
            .contains("no code")
    );
    assert!(
        refusal("code = \"c\"\nmust = { field = \"a\", present = true }\nfix = \"\"")
            .contains("what to do")
    );
    assert!(refusal("code = \"c\"\nfix = \"f\"").contains("must"));
    assert!(refusal(&test("{ field = \"a\", is = \"b\" }")).contains("unknown field"));
    let many = "{ field = \"a\", present = true },".repeat(17);
    let text = format!(
        "code = \"c\"\nwhen = [{many}]\nmust = {{ field = \"a\", present = true }}\nfix = \"f\""
    );
    assert!(refusal(&text).contains("too many conditions"));
}
