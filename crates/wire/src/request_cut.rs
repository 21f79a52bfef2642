//! A request without what is on no list, and what its choice of a tool means for that.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::Value;

use crate::request_dispatch::not_json;
use crate::unlisted::cut;
use crate::{Edit, Format, Request, RequestError, Unlisted, UnlistedKind, patch, scan};

impl Request {
    /// The request without some of what is on no list. A list of tools that this empties is left out with
    /// what is said about choosing among them: vendors refuse an empty one.
    pub fn without(
        &self,
        is_out: impl Fn(&Unlisted) -> bool,
    ) -> Result<Cow<'_, Self>, RequestError> {
        let out: Vec<&Unlisted> = self.unlisted.iter().filter(|one| is_out(one)).collect();
        if out.is_empty() {
            return Ok(Cow::Borrowed(self));
        }
        let mut body = cut(&self.body, out.iter().copied());
        let has_tool = out.iter().any(|one| one.path.starts_with("tools["));
        if has_tool && let Some(bare) = without_empty_tools(self.format, &body)? {
            body = bare;
        }
        let layout = scan(&body).map_err(not_json)?.layout();
        Ok(Cow::Owned(Self {
            body: Bytes::from(body),
            layout,
            unlisted: Vec::new(),
            ..self.clone()
        }))
    }

    /// The first of some tools that the request forces: it names one, or wants one used and has no other.
    #[must_use]
    pub fn forced_tool<'a>(&self, tools: &[&'a Unlisted]) -> Option<&'a Unlisted> {
        let first = tools.first()?;
        let choice = match self.format {
            Format::OpenaiChat | Format::ClaudeMessages | Format::OpenaiResponses => {
                self.at("tool_choice")?
            }
            Format::Gemini => self.at("toolConfig.functionCallingConfig")?,
        };
        let text = |key: &str| choice.get(key).and_then(Value::as_str).unwrap_or_default();
        let named = tools.iter().find(|tool| match &tool.what {
            UnlistedKind::Tool { kind, name } => {
                let chosen = text("name");
                is_kind(kind, text("type"))
                    || (!chosen.is_empty() && name.as_deref() == Some(chosen))
            }
            UnlistedKind::Field { .. } | UnlistedKind::Null => false,
        });
        let is_required = choice.as_str() == Some("required")
            || text("type") == "any"
            || text("mode") == "required"
            || text("mode").eq_ignore_ascii_case("any");
        let given = self
            .at("tools")
            .and_then(|list| Some(list.as_array()?.len()));
        let is_item =
            |tool: &&&Unlisted| tool.path.starts_with("tools[") && tool.path.ends_with(']');
        let items = tools.iter().filter(is_item).count();
        let is_last = given.is_some_and(|given| given <= items);
        named
            .copied()
            .or_else(|| (is_required && is_last).then_some(*first))
    }
}

/// The body without an empty list of tools and what is said of choosing among them; none if it has tools.
fn without_empty_tools(format: Format, body: &[u8]) -> Result<Option<Vec<u8>>, RequestError> {
    let object = scan(body).map_err(not_json)?;
    if !object.value("tools").is_some_and(is_empty_list) {
        return Ok(None);
    }
    let fields = tool_fields(format).iter();
    let edits: Vec<Edit<'_>> = fields.map(|field| Edit::Remove(field)).collect();
    Ok(Some(patch(&object, &edits)))
}

/// Whether a choice names a kind, perhaps without its date.
fn is_kind(kind: &str, chosen: &str) -> bool {
    let rest = kind.strip_prefix(chosen).filter(|_| !chosen.is_empty());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

fn is_empty_list(json: &[u8]) -> bool {
    let inside = json
        .strip_prefix(b"[")
        .and_then(|rest| rest.strip_suffix(b"]"));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

/// What a format says about tools at the top.
const fn tool_fields(format: Format) -> &'static [&'static str] {
    match format {
        Format::OpenaiChat | Format::OpenaiResponses => {
            &["tools", "tool_choice", "parallel_tool_calls"]
        }
        Format::ClaudeMessages => &["tools", "tool_choice"],
        Format::Gemini => &["tools", "toolConfig"],
    }
}
