//! What a caller gets: its part of every limit, or the word that one of them is used up.

use std::time::Duration;

use crate::limits::Limits;
use crate::name::{Kind, Tag, Want};

/// Where a counter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// What it may reach in its window.
    pub limit: u64,
    /// What is left of that, as far as this node knows.
    pub remaining: u64,
    /// Until the window is over.
    pub resets_in: Duration,
    /// Which window that is.
    pub(crate) turn: u64,
}

/// Parts of limits that were taken. What is held at once goes back when this is dropped.
#[derive(Debug)]
pub struct Grant {
    limits: Limits,
    tag: Tag,
    wants: Vec<Want>,
    standings: Vec<Standing>,
    is_settled: bool,
    is_released: bool,
}

/// A limit is used up. Nothing was taken of any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Which of the wants it was.
    pub which: usize,
    /// When it may succeed.
    pub retry_after: Duration,
    /// What was wanted.
    pub wants: Vec<Want>,
    /// Where each of them stands.
    pub standings: Vec<Standing>,
}

// === impl Grant ===

impl Grant {
    pub(crate) const fn new(
        limits: Limits,
        tag: Tag,
        wants: Vec<Want>,
        standings: Vec<Standing>,
    ) -> Self {
        Self {
            limits,
            tag,
            wants,
            standings,
            is_settled: false,
            is_released: false,
        }
    }

    pub(crate) fn wants(&self) -> &[Want] {
        &self.wants
    }

    /// What was wanted and where each counter stood then.
    pub fn standings(&self) -> impl Iterator<Item = (&Want, &Standing)> {
        self.wants.iter().zip(&self.standings)
    }

    /// So many tokens were really used. More than was taken is counted in the same window, less goes
    /// back into it; the first word counts.
    pub fn used(&mut self, tokens: u64) {
        if std::mem::replace(&mut self.is_settled, true) {
            return;
        }
        for (want, standing) in self.wants.iter().zip(&self.standings) {
            match want.name.kind {
                Kind::Tokens => self.limits.correct(self.tag, want, standing.turn, tokens),
                Kind::Requests | Kind::AtOnce => {}
            }
        }
    }
}

impl Grant {
    /// Gives back what is held at once, before the rest is over.
    pub fn release(&mut self) {
        if std::mem::replace(&mut self.is_released, true) {
            return;
        }
        for want in &self.wants {
            match want.name.kind {
                Kind::AtOnce => self.limits.give_back(self.tag, want),
                Kind::Requests | Kind::Tokens => {}
            }
        }
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.release();
    }
}
