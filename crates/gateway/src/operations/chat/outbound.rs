//! What is sent to one channel: the caller's own bytes where it speaks the caller's format, otherwise
//! the conversation written in the format it does speak, with notes of what could not be said.

use bytes::Bytes;
use http::HeaderMap;
use trunkline_catalog::{FieldNote, FieldTreatment};
use trunkline_upstream::{Addressing, BodyRules, Quirk, Task};
use trunkline_wire::canonical::{
    LossKind, Note, Notes, Target, TranslationState, strip_signature_tags,
};
use trunkline_wire::openai_chat::renamed_cap;
use trunkline_wire::{CapName, Format, Outgoing, patch_at, scan, streamed_request, write_request};

use crate::channels::Channel;
use crate::error::{ApiError, ErrorCode};
use crate::field_report::strict_violation;
use crate::format_selection::{choose, provider_format};

use super::quote::Quoted;
use super::unlisted::{DroppedField, Listed};
use crate::services::Services;

/// A request as one channel gets it.
#[derive(Debug)]
pub(crate) struct OutboundRequest {
    pub(crate) body: Bytes,
    /// What the channel is spoken to in.
    pub(crate) to: Format,
    /// What its answer needs to be understood.
    pub(crate) state: TranslationState,
    /// What could not be said.
    pub(crate) notes: Notes,
    /// What of the caller's headers goes on.
    pub(crate) headers: HeaderMap,
    /// What is on no list and does not go on.
    pub(crate) dropped: Vec<DroppedField>,
    /// A stream is requested, and a whole answer assembled from it.
    pub(crate) aggregates: bool,
}

impl Quoted {
    /// The channel whose reasoning is in the conversation, if one signed it.
    pub(super) fn sticky_channel(&self) -> Option<&str> {
        self.signatures.last()?.channel.as_deref()
    }

    /// What a channel gets; none if it speaks nothing that this could be said in.
    pub(super) fn for_channel(
        &mut self,
        channel: &Channel,
    ) -> Option<Result<OutboundRequest, ApiError>> {
        let caller = self.format();
        let to = choose(caller, &channel.provider.formats)?;
        // What is continued is only there, and only in this format; what is relayed is not translated.
        let bound = self.continues.is_some() || self.endpoint.passthrough.is_some();
        if bound && to != caller {
            return None;
        }
        let prepared = match self.aggregated(to, channel) {
            Some(prepared) => prepared,
            None => self.prepared(to, channel),
        };
        Some(prepared.and_then(|prepared| self.allowed(prepared)))
    }

    fn prepared(&mut self, to: Format, channel: &Channel) -> Result<OutboundRequest, ApiError> {
        if to == self.format() && !self.has_foreign_seals(to, channel) {
            self.same(to, channel)
        } else {
            self.translated(to, channel)
        }
    }

    /// The request for a stream that a whole answer is assembled from; none where the answer is not cut by the
    /// balance, or the channel's streams do not carry all of it.
    fn aggregated(
        &mut self,
        to: Format,
        channel: &Channel,
    ) -> Option<Result<OutboundRequest, ApiError>> {
        let is_chat = self.endpoint.passthrough.is_none();
        let uncut = self.cap_uncut().filter(|_| is_chat)?;
        if !channel.provider.aggregate_stream {
            return None;
        }
        let fitted = self.cap.replace(uncut);
        let prepared = self.prepared(to, channel);
        self.cap = fitted;
        match prepared {
            Ok(mut prepared) => {
                prepared.body = streamed_request(to, &prepared.body)?;
                prepared.aggregates = true;
                Some(Ok(prepared))
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// Adds to a quote what would be lost on the way to the channel that would be asked first.
    pub(crate) fn preview_losses(&mut self, services: &Services) -> Result<(), ApiError> {
        let order = self.order(services, self.seed());
        let first = order.iter().find_map(|channel| self.for_channel(channel));
        let dropped = match first {
            Some(outbound) => {
                let outbound = outbound?;
                for note in outbound.notes.all() {
                    self.call.report.add(field_note(note));
                }
                outbound.dropped
            }
            None => self.listed(None, self.format())?.dropped,
        };
        for DroppedField { note, .. } in dropped {
            self.call.report.add(note);
        }
        Ok(())
    }

    fn has_foreign_seals(&self, to: Format, channel: &Channel) -> bool {
        let mut seals = self.signatures.iter();
        seals.any(|seal| !seal.belongs_to(to, Some(&channel.mark)))
    }

    /// Refusals, and in strict mode every loss, are the caller's to decide about.
    fn allowed(&self, prepared: OutboundRequest) -> Result<OutboundRequest, ApiError> {
        if let Some(note) = prepared.notes.first_refused() {
            let text = format!(
                "`{}` cannot be sent to this model's upstream: {}; nothing was charged",
                note.field, note.why
            );
            let error = ApiError::new(ErrorCode::Rule(note.loss.code().to_owned()), text);
            return Err(error.at(&note.field));
        }
        if let Some(error) = self.strict_refusal(&prepared.dropped) {
            return Err(error);
        }
        let notes = prepared.notes.all().iter();
        match notes.map(field_note).find(FieldNote::is_pitfall) {
            Some(note) if self.call.strict => Err(strict_violation(&note)),
            Some(_) | None => Ok(prepared),
        }
    }

    fn same(&self, to: Format, channel: &Channel) -> Result<OutboundRequest, ApiError> {
        let Listed {
            request,
            headers,
            dropped,
        } = self.listed(Some(channel), to)?;
        let rules = channel
            .provider
            .body_rules(provider_format(to), Task::Generate);
        let mut without = self.drop_fields.clone();
        without.extend(rules.without.iter().map(|field| (*field).to_owned()));
        let mut with = self.set_fields.clone();
        let owned = |(field, json): &(&str, &str)| ((*field).to_owned(), (*json).to_owned());
        with.extend(rules.set.iter().map(owned));
        with.extend(flags(&headers, channel));
        let cap_name = self.cap_name(channel);
        let out = Outgoing {
            model: channel.upstream_model(self.request.model()),
            max_output: self.cap(to),
            cap_name,
            no_stream_options: channel.provider.has(Quirk::NoStreamOptions),
            without: &without,
            with: &with,
        };
        let mut body = request.outgoing(&out);
        if !self.signatures.is_empty() {
            body = Bytes::from(strip_signature_tags(&body, to, &channel.mark));
        }
        let mut notes = Notes::default();
        if let Some((sent_name, word)) = renamed_cap(&self.request, cap_name) {
            let why = format!("sent as `{word}`, the name that this model's vendor takes");
            notes.renamed(sent_name, why);
        }
        Ok(OutboundRequest {
            body,
            to,
            state: TranslationState::default(),
            notes,
            headers,
            dropped,
            aggregates: false,
        })
    }

    /// The name that a channel's vendor takes for the longest answer of this model.
    fn cap_name(&self, channel: &Channel) -> CapName {
        let reasons = self.call.sale.model.entry().reasons();
        if channel.provider.has(Quirk::MaxTokensOnly) {
            CapName::MaxTokens
        } else if reasons && channel.provider.has(Quirk::ReasoningCap) {
            CapName::MaxCompletionTokens
        } else {
            CapName::Either
        }
    }

    /// The length that is written out. Anthropic wants one always.
    fn cap(&self, to: Format) -> Option<u64> {
        let most = || self.call.sale.model.entry().specs.max_output();
        match to {
            Format::ClaudeMessages => Some(self.cap.unwrap_or_else(most)),
            Format::OpenaiChat | Format::OpenaiResponses | Format::Gemini => self.cap,
        }
    }

    fn translated(&mut self, to: Format, channel: &Channel) -> Result<OutboundRequest, ApiError> {
        let (cap, cap_name) = (self.cap(to), self.cap_name(channel));
        let Listed {
            headers, dropped, ..
        } = self.listed(Some(channel), to)?;
        let (request, drop_fields) = (&self.request, &self.drop_fields);
        let read = self.conversation.get_or_insert_with(|| {
            let mut conversation = request.without(|_| true)?.canonical()?;
            for path in drop_fields {
                conversation.remove_field(request.chat_name_of(path));
            }
            Ok(conversation)
        });
        let conversation = read
            .as_ref()
            .map_err(|refusal| ApiError::from(refusal.clone()))?;
        let target = Target {
            model: channel.upstream_model(self.request.model()),
            max_output: cap,
            thinks_by_effort: self.call.sale.model.entry().specs.thinks_by_effort(),
            channel: Some(&channel.mark),
            cap_name,
            no_stream_options: channel.provider.has(Quirk::NoStreamOptions),
        };
        let written = write_request(to, conversation, &target);
        let rules = channel
            .provider
            .body_rules(provider_format(to), Task::Generate);
        Ok(OutboundRequest {
            body: Bytes::from(ruled(written.body, rules)),
            to,
            state: written.state,
            notes: written.notes,
            headers,
            dropped,
            aggregates: false,
        })
    }
}

/// Bedrock takes Anthropic's flags in the body, and no header.
fn flags(headers: &HeaderMap, channel: &Channel) -> Option<(String, String)> {
    let sent = headers.get("anthropic-beta")?.to_str().ok()?;
    let flags: Vec<&str> = sent.split(',').collect();
    let in_body = channel.provider.addressing == Addressing::Bedrock;
    in_body.then(|| {
        (
            "anthropic_beta".to_owned(),
            serde_json::json!(flags).to_string(),
        )
    })
}

/// A body as a way in wants it.
fn ruled(body: Vec<u8>, rules: BodyRules) -> Vec<u8> {
    if rules == BodyRules::default() {
        return body;
    }
    let Ok(object) = scan(&body) else {
        return body;
    };
    let without = rules.without.iter();
    let without = without.map(|field| ((*field).to_owned(), None));
    let set = rules.set.iter();
    let set = set.map(|(field, json)| ((*field).to_owned(), Some(json.as_bytes().to_vec())));
    patch_at(&object, &without.chain(set).collect::<Vec<_>>())
}

/// A loss as the field report tells it.
pub(crate) fn field_note(note: &Note) -> FieldNote {
    let fate = match note.loss {
        LossKind::Dropped | LossKind::Refused => FieldTreatment::Ignored,
        LossKind::Approximated => FieldTreatment::Rewritten,
        // It means what it meant, so there is nothing to warn of.
        LossKind::Renamed => {
            return FieldNote::read(note.field.clone()).with_reason(note.why.clone());
        }
    };
    FieldNote::new(note.field.clone(), fate, note.loss.code(), note.why.clone())
}
