//! The platforms of social data as a page, made of what is sold.

use serde_json::Value;
use trunkline_social::catalog_cell;

use crate::gateway_port::SocialCell;

/// The page's text, below its first heading.
pub(super) fn markdown(cells: &[SocialCell]) -> String {
    let mut out = String::new();
    let mut platform = String::new();
    for SocialCell { cell, .. } in cells {
        // As the catalog tells it, but for price and state, which change while a page is read.
        let text = catalog_cell(cell, None, false);
        let Ok(facts) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        if platform != cell.platform.key {
            platform.clone_from(&cell.platform.key);
            out.push_str(&format!("## {}\n\n", word(&facts, "name")));
            out.push_str(&format!("Key `{platform}`.\n\n"));
        }
        out.push_str(&format!(
            "### {platform} {}\n\n`GET {}`, charged as `{}`.\n\n",
            word(&facts, "capability"),
            word(&facts, "path"),
            word(&facts, "model")
        ));
        push_params(&mut out, &facts);
    }
    out
}

fn push_params(out: &mut String, facts: &Value) {
    let params = facts.get("params").and_then(Value::as_array);
    let params = params.map(Vec::as_slice).unwrap_or_default();
    if params.is_empty() {
        out.push_str("It takes no parameters.\n\n");
        return;
    }
    out.push_str("| Parameter | Type | Meaning |\n|---|---|---|\n");
    for param in params {
        let needed = param.get("required") == Some(&Value::Bool(true));
        let needed = if needed { " (needed)" } else { "" };
        let meaning = param.pointer("/description/en").and_then(Value::as_str);
        let more = |name: &str, before: &str| {
            let value = param.get(name).filter(|value| !value.is_null());
            value.map_or_else(String::new, |value| format!("{before}`{}`", plain(value)))
        };
        out.push_str(&format!(
            "| `{}` | {}{needed} | {}{}{} |\n",
            word(param, "name"),
            word(param, "type"),
            meaning.unwrap_or_default().replace('|', "\\|"),
            more("default", "; left out: "),
            more("example", "; such as ")
        ));
    }
    out.push('\n');
    let groups = facts.get("require_one_of").and_then(Value::as_array);
    for group in groups.into_iter().flatten() {
        let names = group.as_array().into_iter().flatten();
        let names: Vec<String> = names.map(|name| format!("`{}`", plain(name))).collect();
        out.push_str(&format!("One of {} is needed.\n\n", names.join(", ")));
    }
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
