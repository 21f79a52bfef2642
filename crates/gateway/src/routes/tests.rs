//! The paths that are documented, beside those that are answered.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

const DOCUMENT: &str = include_str!("../../../../docs/openapi/gateway.json");

fn document() -> Value {
    serde_json::from_str(DOCUMENT).unwrap()
}

/// A path as a caller writes it.
fn filled(path: &str) -> String {
    let parts = path.split('/').map(|part| match part.split_once('}') {
        Some((_, verb)) => format!("x{verb}"),
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("/")
}

#[test]
fn every_documented_path_answers_its_methods_and_no_others() {
    for (path, item) in document()["paths"].as_object().unwrap() {
        let filled_path = filled(path);
        let route = match_route(&filled_path);
        let allowed = route.methods();
        let allowed = allowed.unwrap_or_else(|| panic!("{path} is not answered"));
        // GET implies HEAD.
        let allowed: BTreeSet<String> = allowed
            .iter()
            .filter(|method| **method != Method::HEAD)
            .map(|method| method.as_str().to_lowercase())
            .collect();
        let documented: BTreeSet<String> = item.as_object().unwrap().keys().cloned().collect();
        assert_eq!(allowed, documented, "{path}");
    }
}

/// Everything that the source calls a path, a part of one or a verb.
#[test]
fn every_path_that_is_answered_is_in_the_document() {
    let document = document();
    let documented: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    let between = |text: &'static str, from: &str, to: &str| {
        let (_, below) = text.split_once(from).unwrap();
        below.split(to).next().unwrap()
    };
    let routes = between(
        include_str!("../routes.rs"),
        "fn match_route(",
        "/// The shape that errors",
    );
    let account_routes = between(
        include_str!("account_routes.rs"),
        "pub(super) fn of(",
        "/// Answers an account-API",
    );
    let literals = |text: &'static str| text.split('"').skip(1).step_by(2);
    let mut seen = 0;
    let paid = ROUTES.iter().map(|row| row.path);
    for literal in literals(routes).chain(literals(account_routes)).chain(paid) {
        // The slash that parts are split at, and `/v1` twice, which is a mistake and answered as one.
        if literal.len() < 2 || literal == "/v1/v1/" {
            continue;
        }
        let is_documented = documented.iter().any(|path| {
            let is_path =
                path.as_str() == literal || literal.ends_with('/') && path.starts_with(literal);
            let is_part = path.split('/').any(|part| part == literal);
            is_path || is_part || path.ends_with(&format!(":{literal}"))
        });
        assert!(is_documented, "{literal} is answered and not told of");
        seen += 1;
    }
    assert!(seen > 40, "{seen}");
    assert!(documented.iter().any(|path| path.as_str() == "/"));
}
