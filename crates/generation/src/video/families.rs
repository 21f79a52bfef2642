//! Families of video models: each reads its own subset of the fields, fills in its own defaults and
//! writes its own upstream's body. Which family a model is of stands in its record
//! (`specs.video_family`), as `<family>_<variant>`.

mod dashscope;
mod happyhorse;
mod kling;
mod minimax;
mod openai;
mod seedance;
mod wan;

use trunkline_catalog::{RequestError, Specs};

use crate::video::media_facts::KnownMedia;
use crate::video::plan::{BillableUnits, Outbound, Plan};
use crate::video::request::VideoRequest;

/// What a family plans from.
#[derive(Debug, Clone, Copy)]
pub struct PlanContext<'a> {
    /// The variant of the family, such as `text`.
    pub variant: &'static str,
    pub request: &'a VideoRequest,
    /// The specs of the model's record.
    pub specs: &'a Specs,
    pub facts: &'a KnownMedia,
}

#[derive(Debug)]
pub struct Family {
    /// The specification's code, or a name: the first part of `specs.video_family`, and the folder of its fixtures.
    pub spec_letter: &'static str,
    pub variants: &'static [&'static str],
    /// Reads a request into a plan or a refusal. Pure: the same request, the same plan.
    pub plan: fn(&PlanContext<'_>) -> Result<Plan, RequestError>,
    /// Prices a body that is sent from scratch: the units that the upstream bills for it. It must not
    /// depend on the request.
    pub bill:
        fn(&'static str, &Outbound, &Specs, &KnownMedia) -> Result<BillableUnits, RequestError>,
}

/// All families. A new one is a line here and one above: docs/dev/adding/family.md.
pub const ALL: &[&Family] = &[
    &wan::FAMILY,
    &seedance::FAMILY,
    &kling::FAMILY,
    &minimax::FAMILY,
    &happyhorse::FAMILY,
    &openai::FAMILY,
];

/// The family and the variant of a record's `video_family`, such as `a_text`.
#[must_use]
pub fn family_of(word: &str) -> Option<(&'static Family, &'static str)> {
    ALL.iter().copied().find_map(|family| {
        let variant = word.strip_prefix(family.spec_letter)?.strip_prefix('_')?;
        let known = family.variants.iter().copied();
        let variant = known.into_iter().find(|name| *name == variant)?;
        Some((family, variant))
    })
}
