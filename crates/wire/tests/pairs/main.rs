//! All pairs of formats over the golden corpus: what each conversation becomes in each format, what
//! comes back to each caller, what is lost on the way and said so, and what was used.

#[cfg(test)]
mod answer_probes;
#[cfg(test)]
mod answers;
#[cfg(test)]
mod boundaries;
#[cfg(test)]
mod carry;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod features;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod probes;
#[cfg(test)]
mod round;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod takes;
#[cfg(test)]
mod usage;
