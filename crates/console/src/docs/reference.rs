//! An OpenAPI document as a page: every path with what it takes and gives, in the words of the document.

use serde_json::Value;

/// How deep a body is told. What is below is named by its type alone.
const MAX_DEPTH: usize = 3;
/// Lines of one body. A longer one says that there is more.
const MAX_LINES: usize = 60;
/// The methods, in the order in which they are told.
const METHODS: [&str; 6] = ["get", "post", "put", "patch", "delete", "head"];

pub(super) struct Reference<'a> {
    document: &'a Value,
}

/// One operation, and where it is.
struct Operation<'a> {
    path: &'a str,
    method: &'a str,
    facts: &'a Value,
}

/// A line of a table.
struct Line {
    name: String,
    kind: String,
    required: bool,
    text: String,
}

// === impl Reference ===

impl<'a> Reference<'a> {
    pub(super) const fn new(document: &'a Value) -> Self {
        Self { document }
    }

    /// The page's text, below its first heading.
    pub(super) fn markdown(&self) -> String {
        let mut out = String::new();
        let operations = self.operations();
        for (tag, text) in self.tags(&operations) {
            out.push_str(&format!("## {}\n\n", titled(&tag)));
            if !text.is_empty() {
                out.push_str(&format!("{text}\n\n"));
            }
            let of_tag = operations.iter().filter(|one| one.tag() == tag);
            for operation in of_tag {
                self.push_operation(&mut out, operation);
            }
        }
        out
    }

    fn operations(&self) -> Vec<Operation<'a>> {
        let paths = self.document.get("paths").and_then(Value::as_object);
        let mut found = Vec::new();
        for (path, item) in paths.into_iter().flatten() {
            for method in METHODS {
                if let Some(facts) = item.get(method) {
                    found.push(Operation {
                        path,
                        method,
                        facts,
                    });
                }
            }
        }
        found
    }

    /// The tags in the document's order, then those that it only uses.
    fn tags(&self, operations: &[Operation<'_>]) -> Vec<(String, String)> {
        let listed = self.document.get("tags").and_then(Value::as_array);
        let mut tags: Vec<(String, String)> = listed
            .into_iter()
            .flatten()
            .map(|tag| (text_of(tag, "name"), text_of(tag, "description")))
            .collect();
        for operation in operations {
            let tag = operation.tag();
            if tags.iter().all(|(name, _)| *name != tag) {
                tags.push((tag, String::new()));
            }
        }
        tags.retain(|(name, _)| operations.iter().any(|one| one.tag() == *name));
        tags
    }

    fn push_operation(&self, out: &mut String, operation: &Operation<'_>) {
        let method = operation.method.to_uppercase();
        out.push_str(&format!("### {method} {}\n\n", operation.path));
        let facts = operation.facts;
        for name in ["summary", "description"] {
            let text = text_of(facts, name);
            if !text.is_empty() {
                out.push_str(&format!("{text}\n\n"));
            }
        }
        let parameters = facts.get("parameters").and_then(Value::as_array);
        let lines: Vec<Line> = parameters
            .into_iter()
            .flatten()
            .map(|parameter| self.parameter(parameter))
            .collect();
        push_table(out, "Parameter", &lines);
        if let Some(body) = facts.get("requestBody") {
            self.push_body(out, "Field", body);
        }
        self.push_answers(out, facts);
    }

    fn parameter(&self, parameter: &Value) -> Line {
        let parameter = self.resolved(parameter);
        let place = text_of(parameter, "in");
        let schema = parameter.get("schema").unwrap_or(&Value::Null);
        Line {
            name: text_of(parameter, "name"),
            kind: format!("{}, in the {place}", self.kind(schema)),
            required: parameter.get("required") == Some(&Value::Bool(true)),
            text: text_of(parameter, "description"),
        }
    }

    fn push_body(&self, out: &mut String, word: &str, body: &Value) {
        let content = self.resolved(body).get("content");
        for (kind, media) in content.and_then(Value::as_object).into_iter().flatten() {
            let Some(schema) = media.get("schema") else {
                continue;
            };
            let mut lines = Vec::new();
            self.collect(&mut lines, schema, "", MAX_DEPTH);
            if lines.is_empty() {
                continue;
            }
            if kind != "application/json" {
                out.push_str(&format!("As `{kind}`:\n\n"));
            }
            push_table(out, word, &lines);
        }
    }

    fn push_answers(&self, out: &mut String, facts: &Value) {
        let answers = facts.get("responses").and_then(Value::as_object);
        let mut refusals = Vec::new();
        for (status, answer) in answers.into_iter().flatten() {
            let answer = self.resolved(answer);
            let text = text_of(answer, "description");
            if status.starts_with('2') {
                out.push_str(&format!("**{status}** {text}\n\n"));
                self.push_body(out, "Answer", answer);
            } else {
                refusals.push(format!("`{status}` {text}"));
            }
        }
        if !refusals.is_empty() {
            out.push_str(&format!("Also: {}.\n\n", refusals.join("; ")));
        }
    }

    /// The fields of a schema, those of what is inside it with them.
    fn collect(&self, lines: &mut Vec<Line>, schema: &Value, before: &str, depth: usize) {
        let schema = self.resolved(schema);
        let Some(depth) = depth.checked_sub(1) else {
            return;
        };
        if let Some(items) = schema.get("items") {
            return self.collect(lines, items, &format!("{before}[]"), depth);
        }
        for part in ["allOf", "oneOf", "anyOf"] {
            let parts = schema.get(part).and_then(Value::as_array);
            for one in parts.into_iter().flatten() {
                self.collect(lines, one, before, depth);
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        let fields = schema.get("properties").and_then(Value::as_object);
        for (name, field) in fields.into_iter().flatten() {
            let whole = match before {
                "" => name.clone(),
                before => format!("{before}.{name}"),
            };
            let needed = |names: &Vec<Value>| names.iter().any(|one| one == name.as_str());
            lines.push(Line {
                name: whole.clone(),
                kind: self.kind(field),
                required: required.is_some_and(needed),
                text: self.words(field),
            });
            self.collect(lines, field, &whole, depth);
        }
    }

    /// What is said of a field, here or where its type is.
    fn words(&self, field: &Value) -> String {
        let own = text_of(field, "description");
        if own.is_empty() {
            return text_of(self.resolved(field), "description");
        }
        own
    }

    /// The type, in a few words.
    fn kind(&self, schema: &Value) -> String {
        let schema = self.resolved(schema);
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let words = values.iter().map(|value| format!("`{}`", plain(value)));
            return words.collect::<Vec<_>>().join(", ");
        }
        if let Some(value) = schema.get("const") {
            return format!("`{}`", plain(value));
        }
        for part in ["oneOf", "anyOf"] {
            if let Some(parts) = schema.get(part).and_then(Value::as_array) {
                let mut kinds: Vec<String> = parts.iter().map(|one| self.kind(one)).collect();
                kinds.dedup();
                return kinds.join(" or ");
            }
        }
        let one = |kind: &Value| match kind.as_str() {
            Some("array") => {
                let items = schema.get("items").unwrap_or(&Value::Null);
                format!("list of {}", self.kind(items))
            }
            Some(word) => word.to_owned(),
            None => "any".to_owned(),
        };
        match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().map(one).collect::<Vec<_>>().join(" or "),
            Some(kind) => one(kind),
            None if schema.get("properties").is_some() || schema.get("allOf").is_some() => {
                "object".to_owned()
            }
            None => "any".to_owned(),
        }
    }

    /// What a reference stands for.
    fn resolved<'b>(&self, value: &'b Value) -> &'b Value
    where
        'a: 'b,
    {
        let reference = value.get("$ref").and_then(Value::as_str);
        let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
        pointer
            .and_then(|pointer| self.document.pointer(pointer))
            .unwrap_or(value)
    }
}

// === impl Operation ===

impl Operation<'_> {
    fn tag(&self) -> String {
        let tags = self.facts.get("tags").and_then(Value::as_array);
        let first = tags.and_then(|tags| tags.first()).and_then(Value::as_str);
        first.unwrap_or("other").to_owned()
    }
}

fn push_table(out: &mut String, word: &str, lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    out.push_str(&format!("| {word} | Type | Meaning |\n|---|---|---|\n"));
    for line in lines.iter().take(MAX_LINES) {
        let needed = if line.required { " (needed)" } else { "" };
        out.push_str(&format!(
            "| `{}` | {}{needed} | {} |\n",
            in_cell(&line.name),
            in_cell(&line.kind),
            in_cell(&line.text)
        ));
    }
    if lines.len() > MAX_LINES {
        out.push_str("| … | | more in the OpenAPI document |\n");
    }
    out.push('\n');
}

/// Bars end a cell, and so do lines.
fn in_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn titled(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters
        .next()
        .map(|character| character.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), characters.as_str())
}

fn text_of(value: &Value, name: &str) -> String {
    let text = value.get(name).and_then(Value::as_str);
    text.unwrap_or_default().trim().to_owned()
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_path_is_told_with_what_it_takes_and_gives() {
        let document = json!({
            "tags": [{"name": "keys", "description": "What authenticates calls."}],
            "paths": {"/v1/keys/{id}": {
                "get": {"tags": ["keys"], "summary": "Shows one.",
                    "parameters": [{"name": "id", "in": "path", "required": true,
                        "schema": {"type": "integer"}, "description": "Its number"}],
                    "responses": {
                        "200": {"description": "It", "content": {"application/json": {
                            "schema": {"$ref": "#/components/schemas/Key"}}}},
                        "404": {"description": "none"}}}}},
            "components": {"schemas": {"Key": {"type": "object", "required": ["state"], "properties": {
                "state": {"enum": ["on", "off"], "description": "a|b"},
                "budgets": {"type": "array", "items": {"type": "object", "properties": {
                    "limit": {"type": ["string", "null"]}}}}}}}}
        });
        let page = Reference::new(&document).markdown();
        for line in [
            "## Keys\n\nWhat authenticates calls.\n\n### GET /v1/keys/{id}\n\nShows one.",
            "| `id` | integer, in the path (needed) | Its number |",
            "| `state` | `on`, `off` (needed) | a\\|b |",
            "| `budgets` | list of object |  |",
            "| `budgets[].limit` | string or null |  |",
            "Also: `404` none.",
        ] {
            assert!(page.contains(line), "{line}\n\n{page}");
        }
    }
}
