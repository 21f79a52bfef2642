//! What stands in a request and is on no list: what a channel gets of it, and what is said of the rest.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};
use trunkline_catalog::{
    Entry, FieldNote, FieldTreatment, ParameterPolicy, SERVER_TOOL_DROPPED, UNKNOWN_BETA,
    UNKNOWN_FIELD, nearest,
};
use trunkline_wire::{Format, Request, Unlisted, UnlistedKind};

use super::Quoted;
use super::sold_tools::SoldTool;
use crate::channels::Channel;
use crate::error::{ApiError, ErrorCode};
use crate::field_report::strict_violation;
use crate::format_selection::{choose, provider_format};
use crate::services::Services;

/// Kinds of fields of one request that are reported; what is beyond is left out all the same.
const MAX_DROPPED: usize = 64;
/// Characters of a place that are reported.
const MAX_PATH: usize = 200;
const BETA: &str = "anthropic-beta";

/// A field, a tool or a flag that does not go on.
#[derive(Debug, Clone)]
pub(crate) struct DroppedField {
    /// The same for every item of a list, as lists of passed fields write it.
    pub(crate) pattern: String,
    pub(crate) note: FieldNote,
}

/// What a request carries to one channel.
pub(super) struct Listed<'a> {
    pub(super) request: Cow<'a, Request>,
    pub(super) headers: HeaderMap,
    pub(super) dropped: Vec<DroppedField>,
}

/// What the operator lets through on purpose: for a model by its record, and for a provider.
struct Passed<'a> {
    entry: &'a Entry,
    request: &'a Request,
    provider: &'a [String],
    /// Tools that are sold.
    sold: &'a [SoldTool],
}

impl Quoted {
    /// What is on the list, for a channel that is spoken to in a format; or the tool that must be used and
    /// cannot be.
    pub(super) fn listed(
        &self,
        channel: Option<&Channel>,
        to: Format,
    ) -> Result<Listed<'_>, ApiError> {
        let request = &self.request;
        // A translation writes only what it knows.
        let provider = channel.filter(|_| to == self.format()).map(|channel| {
            let format = provider_format(to).as_str();
            let endpoint = self.endpoint.passthrough.map(|_| self.endpoint.name);
            channel.provider.passed_fields(endpoint.unwrap_or(format))
        });
        let passed = Passed {
            entry: self.call.sale.model.entry(),
            request,
            provider: provider.unwrap_or_default(),
            sold: self.sold_to(to),
        };
        let mut dropped = Vec::new();
        let headers = self.listed_headers(&passed, &mut dropped);
        let out = request.unlisted.iter();
        let out: Vec<&Unlisted> = out.filter(|one| !passed.has(&one.pattern)).collect();
        let is_tool = |one: &&Unlisted| matches!(one.what, UnlistedKind::Tool { .. });
        let tools: Vec<&Unlisted> = out.iter().copied().filter(is_tool).collect();
        if let Some(tool) = request.forced_tool(&tools) {
            return Err(forced(tool));
        }
        for unlisted in out.iter().filter(|one| !one.is_null()) {
            let is_known = |known: &DroppedField| known.pattern == unlisted.pattern;
            if dropped.len() < MAX_DROPPED && !dropped.iter().any(is_known) {
                dropped.push(DroppedField {
                    pattern: unlisted.pattern.clone(),
                    note: note(request, unlisted),
                });
            }
        }
        let request = request.without(|one| !passed.has(&one.pattern))?;
        Ok(Listed {
            request,
            headers,
            dropped,
        })
    }

    /// Refuses, before money moves, what no channel could be told: a tool that must be used and is not
    /// sold, and in strict mode everything that would be left out.
    pub(crate) fn check_unlisted(&self, services: &Services) -> Result<(), ApiError> {
        let has_flags = self.call.strict && self.forwarded.contains_key(BETA);
        if self.request.unlisted.is_empty() && !has_flags {
            return Ok(());
        }
        let order = self.order(services, self.seed());
        let mut first = None;
        let channels = order.iter().map(|channel| Some(channel.as_ref()));
        let none = order.is_empty().then_some(None);
        for channel in channels.chain(none) {
            let to = channel.map(|channel| choose(self.format(), &channel.provider.formats));
            let Some(to) = to.unwrap_or(Some(self.format())) else {
                continue;
            };
            let refused = match self.listed(channel, to) {
                Ok(listed) => self.strict_refusal(&listed.dropped),
                Err(error) => Some(error),
            };
            match refused {
                None => return Ok(()),
                Some(error) => first = first.or(Some(error)),
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// What strict mode says of what would be left out.
    pub(super) fn strict_refusal(&self, dropped: &[DroppedField]) -> Option<ApiError> {
        let first = dropped.first().filter(|_| self.call.strict)?;
        Some(strict_violation(&first.note))
    }

    /// The caller's headers with the flags that are listed.
    fn listed_headers(&self, passed: &Passed<'_>, dropped: &mut Vec<DroppedField>) -> HeaderMap {
        let mut headers = self.forwarded.clone();
        headers.remove(BETA);
        let sent = self.forwarded.get(BETA);
        let Some(sent) = sent.and_then(|sent| sent.to_str().ok()) else {
            return headers;
        };
        let flags = sent.split(',').map(str::trim);
        let flags: Vec<&str> = flags.filter(|flag| !flag.is_empty()).collect();
        let list = self.request.field_list();
        let (kept, out): (Vec<&str>, Vec<&str>) = flags
            .into_iter()
            .partition(|flag| list.has_beta(flag) || passed.has(&format!("{BETA}={flag}")));
        for flag in out.into_iter().take(MAX_DROPPED) {
            let flag = cut(flag);
            let why = "this flag is not known here, so it is not sent";
            let pattern = format!("{BETA}={flag}");
            let note = FieldNote::new(&pattern, FieldTreatment::Ignored, UNKNOWN_BETA, why);
            let note = note.with_fix("leave it out");
            dropped.push(DroppedField { pattern, note });
        }
        if let Ok(value) = HeaderValue::from_str(&kept.join(","))
            && !kept.is_empty()
        {
            headers.insert(HeaderName::from_static(BETA), value);
        }
        headers
    }
}

// === impl Passed ===

impl Passed<'_> {
    fn has(&self, pattern: &str) -> bool {
        let policy = self
            .entry
            .parameters
            .get(self.request.chat_name_of(pattern));
        let is_in = |list: &[String]| list.iter().any(|known| known == pattern);
        policy == Some(&ParameterPolicy::Pass)
            || is_in(&self.entry.pass_fields)
            || is_in(self.provider)
            || self.sold.iter().any(|tool| tool.pattern == pattern)
    }
}

fn note(request: &Request, unlisted: &Unlisted) -> FieldNote {
    let path = cut(&unlisted.path);
    match &unlisted.what {
        UnlistedKind::Tool { kind, .. } => {
            let why =
                format!("{kind} is run by the vendor, is billed by the call and has no price here");
            let note = FieldNote::new(path, FieldTreatment::Ignored, SERVER_TOOL_DROPPED, why);
            note.with_fix("leave it out, or send a tool of your own")
        }
        UnlistedKind::Field { shape } => {
            let why = "unknown field, so it is not sent";
            let note = FieldNote::new(path, FieldTreatment::Ignored, UNKNOWN_FIELD, why);
            let name = unlisted.pattern.rsplit('.').next().unwrap_or_default();
            let known = shape
                .iter()
                .flat_map(|shape| request.field_list().names(*shape));
            match nearest(name, known) {
                Some(meant) => note.with_fix(format!("did you mean `{meant}`?")),
                None => note.with_fix("remove it"),
            }
        }
        UnlistedKind::Null => FieldNote::read(path),
    }
}

fn forced(tool: &Unlisted) -> ApiError {
    let kind = match &tool.what {
        UnlistedKind::Tool { kind, .. } => kind.as_str(),
        UnlistedKind::Field { .. } | UnlistedKind::Null => "the tool",
    };
    let text = format!(
        "{kind:?} is run by the vendor, is billed by the call and has no price here; let the model \
         choose, or leave the tool out"
    );
    ApiError::new(ErrorCode::Invalid("invalid_request"), text).at("tool_choice")
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_PATH).collect()
}
