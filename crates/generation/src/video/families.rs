//! Families of video models: each reads its own subset of the fields, fills in its own defaults and
//! writes its own upstream's body. Which family a model is of stands in its record
//! (`specs.video_family`), as `<family>_<variant>`.

mod a;
mod b;
mod c;
mod d;
mod dashscope;
mod e;
mod openai;

use trunkline_catalog::{Refusal, Specs};

use crate::video::ask::Ask;
use crate::video::measured::Measurements;
use crate::video::plan::{Bill, Plan, Sent};

/// A request beside what a family needs to read it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The variant of the family, such as `text`.
    pub variant: &'static str,
    /// The request.
    pub ask: &'a Ask,
    /// What the model's record says.
    pub specs: &'a Specs,
    /// What was measured.
    pub measured: &'a Measurements,
}

/// One family.
#[derive(Debug)]
pub struct Family {
    /// Its word.
    pub word: &'static str,
    /// Its variants.
    pub variants: &'static [&'static str],
    /// Reads a request into a plan or a refusal. Pure: the same request, the same plan.
    pub plan: fn(&Asked<'_>) -> Result<Plan, Refusal>,
    /// Prices a body that is sent from scratch: the units that the upstream bills for it. It must not
    /// look at how the body came to be.
    pub bill: fn(&'static str, &Sent, &Specs, &Measurements) -> Result<Bill, Refusal>,
}

/// All families. A new one is a line here and one above: docs/adding/family.md.
pub const ALL: &[&Family] = &[
    &a::FAMILY,
    &b::FAMILY,
    &c::FAMILY,
    &d::FAMILY,
    &e::FAMILY,
    &openai::FAMILY,
];

/// The family and the variant of a record's word, such as `a_text`.
#[must_use]
pub fn family_of(word: &str) -> Option<(&'static Family, &'static str)> {
    ALL.iter().copied().find_map(|family| {
        let variant = word.strip_prefix(family.word)?.strip_prefix('_')?;
        let known = family.variants.iter().copied();
        let variant = known.into_iter().find(|name| *name == variant)?;
        Some((family, variant))
    })
}
