//! All pairs of formats over the golden corpus: what each conversation becomes in each format, what
//! comes back to each caller, what is lost on the way and said so, and what was used.

mod answer_probes;
mod answers;
mod boundaries;
pub(crate) mod corpus;
mod feature_lookup;
mod features;
mod matrix;
mod probes;
mod round_trip;
mod snapshots;
mod translate;
mod usage;
