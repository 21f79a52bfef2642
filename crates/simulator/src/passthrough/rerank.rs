//! Rerank: documents in the order in which they fit a query, by the words they share. Two vendors
//! set its shape: Jina tells tokens, Cohere tells billed units.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::ordered_json::{OrderedJson, list};
use crate::refusal::Refusal;
use crate::request::Object;
use crate::request::fields::{self, missing, wrong_type};
use crate::tokens::{PromptSize, count};

use super::{Job, ReportedTokens, Wants, decimal, read_directives, read_model};

/// What is to be ranked.
pub(super) struct Ranks {
    query: String,
    documents: Vec<String>,
    top: usize,
    returns_documents: bool,
    is_cohere: bool,
}

const MAX_DOCUMENTS: usize = 10_000;
/// Documents of one billed unit.
const DOCUMENTS_PER_UNIT: u64 = 100;
const SCORE_DIGITS: u32 = 6;

pub(super) fn read(body: &Object, is_cohere: bool) -> Result<Job, Refusal> {
    fields::check("rerank", body)?;
    let model = read_model(body)?;
    let query = match body.get("query").and_then(Value::as_str) {
        Some(query) if !query.is_empty() => query,
        Some(_) | None => return Err(missing("query")),
    };
    let Some(Value::Array(list)) = body.get("documents") else {
        return Err(missing("documents"));
    };
    if list.is_empty() || list.len() > MAX_DOCUMENTS {
        let message = format!("Invalid 'documents': expected 1 to {MAX_DOCUMENTS} items.");
        return Err(Refusal::invalid("documents", None, message));
    }
    let mut size = PromptSize {
        text_bytes: count(query.len()),
        ..PromptSize::default()
    };
    let mut documents = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let text = match value {
            Value::String(text) => Some(text.as_str()),
            Value::Object(document) => document.get("text").and_then(Value::as_str),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        };
        let Some(text) = text else {
            let path = format!("documents[{index}]");
            return Err(wrong_type(&path, "a string or an object with text", value));
        };
        size.text_bytes = size.text_bytes.saturating_add(count(text.len()));
        documents.push(text.to_owned());
    }
    let top = body.get("top_n").and_then(Value::as_u64);
    let top = top.map_or(documents.len(), |top| {
        usize::try_from(top).unwrap_or(usize::MAX)
    });
    Ok(Job {
        model: model.to_owned(),
        stream: false,
        directives: read_directives(query)?,
        prompt_tokens: size.tokens(),
        completion_tokens: 0,
        wants: Wants::Ranks(Ranks {
            query: query.to_owned(),
            documents,
            top,
            // Jina sends them back unless it is told not to; Cohere only if it is told to.
            returns_documents: match body.get("return_documents") {
                Some(Value::Bool(flag)) => *flag,
                Some(_) | None => !is_cohere,
            },
            is_cohere,
        }),
    })
}

// === impl Ranks ===

impl Ranks {
    pub(super) fn document(&self, id: &str, model: &str, reported: ReportedTokens) -> String {
        let results: Vec<String> = self
            .ranked()
            .into_iter()
            .take(self.top)
            .map(|(index, score)| {
                let text = self.documents.get(index);
                let text = text.filter(|_| self.returns_documents);
                let document = text.map(|text| json!({"text": text}));
                OrderedJson::new()
                    .with("index", &index)
                    .maybe("document", document.as_ref())
                    .raw("relevance_score", &score)
                    .done()
            })
            .collect();
        if self.is_cohere {
            let units = count(self.documents.len()).div_ceil(DOCUMENTS_PER_UNIT);
            let billed = reported.map(|_| json!({"search_units": units}));
            let meta = OrderedJson::new()
                .with("api_version", &json!({"version": "2"}))
                .maybe("billed_units", billed.as_ref())
                .done();
            return OrderedJson::new()
                .with("id", id)
                .raw("results", &list(&results))
                .raw("meta", &meta)
                .done();
        }
        let usage = reported.map(|(prompt, _)| json!({"total_tokens": prompt}));
        OrderedJson::new()
            .with("model", model)
            .with("object", "list")
            .maybe("usage", usage.as_ref())
            .raw("results", &list(&results))
            .done()
    }

    /// Places and scores, the best first, the earlier one first among equals.
    fn ranked(&self) -> Vec<(usize, String)> {
        let query_words = words(&self.query);
        let score = |text: &String| {
            let own = words(text);
            let shared = count(own.intersection(&query_words).count());
            let all = count(own.union(&query_words).count());
            decimal(shared, all, SCORE_DIGITS)
        };
        let mut ranked: Vec<(usize, String)> =
            self.documents.iter().map(score).enumerate().collect();
        // All scores have the same number of digits, so their texts stand in their order.
        ranked.sort_by(|(_, left), (_, right)| right.cmp(left));
        ranked
    }
}

fn words(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_lowercase).collect()
}
