//! Losses of a translation. Callers see them as warnings; strict mode refuses them.

use std::borrow::Cow;

use super::field_names::name_in;
use super::request::{Conversation, UnknownField};

/// Notes of one translation at most; what is beyond is one note that says so.
const MAX_NOTES: usize = 64;

/// What happened to something that the other format has no field for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossKind {
    Dropped,
    /// Written as the nearest equivalent.
    Approximated,
    /// Cannot be left out, so the request is not sent.
    Refused,
    /// Goes on under the upstream's own name, with the same meaning: nothing is lost.
    Renamed,
}

/// One thing that was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub loss: LossKind,
    /// Where it stood, in the words of the format it came in, without numbers of list places.
    pub field: Cow<'static, str>,
    /// Why, in a sentence without a capital.
    pub why: Cow<'static, str>,
}

/// All notes of a translation, each thing once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notes(Vec<Note>);

impl Notes {
    pub fn dropped(
        &mut self,
        field: impl Into<Cow<'static, str>>,
        why: impl Into<Cow<'static, str>>,
    ) {
        self.add(LossKind::Dropped, field.into(), why.into());
    }

    /// Something was written as the nearest equivalent.
    pub fn approximated(
        &mut self,
        field: impl Into<Cow<'static, str>>,
        why: impl Into<Cow<'static, str>>,
    ) {
        self.add(LossKind::Approximated, field.into(), why.into());
    }

    /// Something cannot be left out.
    pub fn refused(
        &mut self,
        field: impl Into<Cow<'static, str>>,
        why: impl Into<Cow<'static, str>>,
    ) {
        self.add(LossKind::Refused, field.into(), why.into());
    }

    /// Something goes on under another name.
    pub fn renamed(
        &mut self,
        field: impl Into<Cow<'static, str>>,
        why: impl Into<Cow<'static, str>>,
    ) {
        self.add(LossKind::Renamed, field.into(), why.into());
    }

    /// A field that only the source format has was left out, or cannot be.
    pub(crate) fn unknown_field(&mut self, field: &UnknownField, why: &'static str) {
        let loss = if field.matters {
            LossKind::Refused
        } else {
            LossKind::Dropped
        };
        self.add(loss, field.field.clone().into(), why.into());
    }

    /// All of them, in the order in which they were found.
    #[must_use]
    pub fn all(&self) -> &[Note] {
        &self.0
    }

    /// The first thing that cannot be left out.
    #[must_use]
    pub fn first_refused(&self) -> Option<&Note> {
        self.0.iter().find(|note| note.loss == LossKind::Refused)
    }

    /// As the caller reads them: fields by its own words, and nothing of what loses nothing.
    #[must_use]
    pub(crate) fn for_caller(self, conversation: &Conversation) -> Self {
        let mut visible = Self::default();
        for Note { loss, field, why } in self.0 {
            let says_nothing = |extra: &UnknownField| extra.field == field && extra.says_nothing();
            if loss == LossKind::Dropped && conversation.extras.iter().any(says_nothing) {
                continue;
            }
            let own = name_in(conversation.from, &field).map(Cow::Borrowed);
            visible.add(loss, own.unwrap_or(field), why);
        }
        visible
    }

    /// Takes over the notes of another part.
    pub fn extend(&mut self, other: Self) {
        for Note { loss, field, why } in other.0 {
            self.add(loss, field, why);
        }
    }

    fn add(&mut self, loss: LossKind, field: Cow<'static, str>, why: Cow<'static, str>) {
        let known = |note: &Note| note.loss == loss && note.field == field;
        if self.0.iter().any(known) {
            return;
        }
        // A refusal is never cut off.
        if self.0.len() < MAX_NOTES || loss == LossKind::Refused {
            self.0.push(Note { loss, field, why });
        }
    }
}

impl LossKind {
    /// The code of the warning.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Dropped => "translation_dropped",
            Self::Approximated => "translation_approximated",
            Self::Refused => "translation_refused",
            Self::Renamed => "parameter_renamed",
        }
    }
}
