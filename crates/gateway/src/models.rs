//! The models a key may use, in the shape of the client that asks, paged as its SDK pages.

use std::collections::BTreeMap;

use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};
use trunkline_catalog::{Book, Model};
use trunkline_types::EndpointType;

use crate::caller::Caller;
use crate::error::{ApiError, ErrorCode};
use crate::model_alias;
use crate::percent::plain;
use crate::response::{Response, json as answer};
use crate::services::Services;

/// Most models on one page.
const MAX_PAGE: usize = 1_000;
/// A page of Anthropic's list if the query names no limit.
const ANTHROPIC_PAGE: usize = 20;
/// The same of Gemini's.
const GEMINI_PAGE: usize = 50;
const UNKNOWN_OWNER: &str = "trunkline";

/// The listing format of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    OpenAi,
    Anthropic,
    Gemini,
}

/// What a list is asked for, after the question mark.
struct Page {
    size: usize,
    after: Option<String>,
    before: Option<String>,
}

impl Shape {
    /// By the path, then by the headers that only one kind of client sends.
    pub(crate) fn of(headers: &HeaderMap, beta: bool) -> Self {
        if beta || headers.contains_key("x-goog-api-key") {
            Self::Gemini
        } else if headers.contains_key("anthropic-version") {
            Self::Anthropic
        } else {
            Self::OpenAi
        }
    }

    /// A model by a name: its own, or one that the account has for it.
    fn one(self, book: &Book, name: &str, real: &str, model: &Model) -> Value {
        let mut view = match self {
            Self::OpenAi => openai(book, name, model),
            Self::Anthropic => anthropic(name, model),
            Self::Gemini => gemini(name, model),
        };
        if name != real
            && let Some(fields) = view.as_object_mut()
        {
            fields.insert("alias_of".to_owned(), json!(real));
        }
        view
    }
}

/// The models this key may use.
pub(crate) fn list(
    services: &Services,
    caller: &Caller,
    shape: Shape,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let catalog = services.catalog.load_full();
    let book = &catalog.book;
    let hides = services.settings.hide_unserved_models;
    let channels = services.channels.load_full();
    let mut known = usable_models(services, caller, book);
    known.retain(|_, model| !hides || channels.knows(model));
    let usable: Vec<&str> = known.keys().copied().collect();
    let all = |names: &[&str]| -> Vec<Value> {
        let one = |name: &&str| {
            let real = known.get(name)?;
            Some(shape.one(book, name, real, book.model(real)?))
        };
        names.iter().filter_map(one).collect()
    };
    let body = match shape {
        Shape::OpenAi => json!({ "object": "list", "data": all(&usable) }),
        Shape::Anthropic => {
            let page = Page::read("limit", "after_id", "before_id", ANTHROPIC_PAGE, query)?;
            let (names, more) = page.cut(&usable);
            json!({
                "data": all(names),
                "has_more": more,
                "first_id": names.first(),
                "last_id": names.last(),
            })
        }
        Shape::Gemini => {
            let page = Page::read("pageSize", "pageToken", "", GEMINI_PAGE, query)?;
            let (names, more) = page.cut(&usable);
            let mut body = Map::from_iter([("models".to_owned(), json!(all(names)))]);
            if let Some(last) = names.last().filter(|_| more) {
                body.insert("nextPageToken".to_owned(), json!(last));
            }
            Value::Object(body)
        }
    };
    Ok(answer(StatusCode::OK, &body))
}

pub(crate) fn describe(
    services: &Services,
    caller: &Caller,
    shape: Shape,
    name: &str,
) -> Result<Response, ApiError> {
    let catalog = services.catalog.load_full();
    let meant = caller.meant(&catalog.book, name);
    let real = meant.as_deref().unwrap_or(name);
    let found = catalog.book.model(real);
    let found = found.filter(|_| can_call(services, caller, &catalog.book, real));
    let Some(model) = found else {
        return Err(Caller::unknown_model(name));
    };
    let view = shape.one(&catalog.book, name, real, model);
    Ok(answer(StatusCode::OK, &view))
}

/// What the key may call, by every name that it can be called by, sorted.
fn usable_models<'a>(
    services: &Services,
    caller: &'a Caller,
    book: &'a Book,
) -> BTreeMap<&'a str, &'a str> {
    let models = book.models().map(|name| (name, name));
    let aliases = caller.account.aliases.iter();
    let aliases = aliases.filter(|(alias, _)| book.model(alias).is_none());
    let aliases = aliases.map(|(alias, model)| (alias.as_str(), model.as_str()));
    let names = models.chain(aliases);
    names
        .filter(|(_, model)| can_call(services, caller, book, model))
        .collect()
}

/// Whether the key may use a model, there is an endpoint to call it through, and a channel where the
/// key may be served.
fn can_call(services: &Services, caller: &Caller, book: &Book, name: &str) -> bool {
    let callable = book.model(name).is_some_and(|model| {
        let entry = model.entry();
        entry.is_callable() && !entry.is_shut_down(services.now())
    });
    callable
        && caller.may_use(name)
        && book.offer(name, caller.group()).is_ok()
        && model_alias::check_demands(services, caller, name).is_ok()
}

// === impl Page ===

impl Page {
    /// Reads a query by the client's names for the length of a page, what is before it and what is
    /// after it.
    fn read(
        size: &str,
        after: &str,
        before: &str,
        usual: usize,
        query: Option<&str>,
    ) -> Result<Self, ApiError> {
        let mut page = Self {
            size: usual,
            after: None,
            before: None,
        };
        for (key, value) in form(query.unwrap_or_default()) {
            if key == size {
                let number: Option<usize> = value.parse().ok();
                let number = number.filter(|number| (1..=MAX_PAGE).contains(number));
                page.size = number.ok_or_else(|| {
                    let text = format!("`{size}` must be from 1 to {MAX_PAGE}");
                    ApiError::new(ErrorCode::Invalid("invalid_request"), text).at(size)
                })?;
            } else if key == after && !value.is_empty() {
                page.after = Some(value);
            } else if key == before && !value.is_empty() {
                page.before = Some(value);
            }
        }
        Ok(page)
    }

    /// The names of this page, which are sorted, and whether there are more in its direction.
    fn cut<'a, 'n>(&self, names: &'a [&'n str]) -> (&'a [&'n str], bool) {
        if let Some(before) = &self.before {
            let end = names.partition_point(|name| *name < before.as_str());
            let start = end.saturating_sub(self.size);
            return (names.get(start..end).unwrap_or_default(), start > 0);
        }
        let start = self.after.as_ref().map_or(0, |after| {
            names.partition_point(|name| *name <= after.as_str())
        });
        let end = start.saturating_add(self.size).min(names.len());
        (names.get(start..end).unwrap_or_default(), end < names.len())
    }
}

fn openai(book: &Book, name: &str, model: &Model) -> Value {
    let entry = model.entry();
    let mut view = json!({
        "id": name,
        "object": "model",
        "created": entry.created,
        "owned_by": entry.vendor.as_deref().unwrap_or(UNKNOWN_OWNER),
        "display_name": name,
        "supported_endpoint_types": entry.endpoints,
    });
    // The shape is open: what a record does not say is left out.
    let tags = (!entry.tags.is_empty()).then(|| entry.tags.join(","));
    let known = [
        ("icon", book.icon(entry).map(str::to_owned)),
        ("tags", tags),
        ("shutdown_date", entry.sunset_on.clone()),
        ("replacement", entry.replaced_by.clone()),
    ];
    if let Some(fields) = view.as_object_mut() {
        let known = known.into_iter();
        fields.extend(known.filter_map(|(key, text)| Some((key.to_owned(), json!(text?)))));
    }
    view
}

fn anthropic(name: &str, model: &Model) -> Value {
    let created = jiff::Timestamp::from_second(model.entry().created).unwrap_or_default();
    json!({
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": created.to_string(),
    })
}

fn gemini(name: &str, model: &Model) -> Value {
    let entry = model.entry();
    let specs = &entry.specs;
    let methods: &[&str] = if entry.serves(EndpointType::Gemini) {
        &["generateContent", "streamGenerateContent", "countTokens"]
    } else {
        &[]
    };
    let input = specs.max_input_tokens.or(specs.context_window);
    let fields = [
        ("name", Some(json!(format!("models/{name}")))),
        ("baseModelId", Some(json!(name))),
        ("version", Some(json!("1"))),
        ("displayName", Some(json!(name))),
        (
            "description",
            entry.description.as_ref().map(|text| json!(text)),
        ),
        ("inputTokenLimit", input.map(|tokens| json!(tokens))),
        (
            "outputTokenLimit",
            specs.max_output_tokens.map(|tokens| json!(tokens)),
        ),
        ("supportedGenerationMethods", Some(json!(methods))),
    ];
    let known = fields.into_iter();
    let known = known.filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(known.collect())
}

/// The pairs of a query, decoded.
fn form(query: &str) -> impl Iterator<Item = (String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (
            plain(&key.replace('+', " ")),
            plain(&value.replace('+', " ")),
        )
    })
}
