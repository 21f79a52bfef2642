//! The results of one gateway, and its score.

use serde::{Deserialize, Serialize};

use crate::charge::{self, Picos};
use crate::check::{Check, Kind};
use crate::exchange::Answer;
use crate::profile::Profile;
use crate::request::Request;
use crate::verdict::Verdict;

/// All checks of one gateway.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    pub(crate) gateway: String,
    pub(crate) version: Option<String>,
    pub(crate) notes: Vec<String>,
    /// How it was set up, word for word.
    pub(crate) configuration: Option<String>,
    pub(crate) has_prices: bool,
    pub(crate) results: Vec<CheckResult>,
}

/// One check.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CheckResult {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) about: String,
    pub(crate) outcome: Outcome,
    pub(crate) findings: Vec<String>,
    pub(crate) explanation: Option<String>,
    pub(crate) is_streamed: bool,
    pub(crate) is_stream_broken: bool,
    pub(crate) fields_lost: usize,
    pub(crate) is_charge_known: bool,
    /// By how much its charge was wrong, in pico-USD.
    wrong_picos: Picos,
    pub(crate) request: String,
    pub(crate) answer: String,
    pub(crate) reference: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Passed,
    Failed,
    /// The gateway does not offer the format, or was given no such model.
    NotRun,
}

/// The numbers of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Score {
    pub checks: usize,
    pub passed: usize,
    pub failed: usize,
    /// Of the failed ones, those that the profile explains.
    pub explained: usize,
    pub not_run: usize,
    pub fields_lost: usize,
    pub streams: usize,
    pub streams_broken: usize,
    /// Calls whose charge the gateway told and was compared.
    pub charges: usize,
    /// None where no charge was compared.
    pub usd_wrong_per_1000_calls: Option<String>,
}

/// Characters of an answer that are kept at each of its ends: less of one that is as it should be.
const KEPT_PASSED: usize = 160;
const KEPT_FAILED: usize = 1_200;
const THOUSAND: Picos = 1_000;

// === impl Report ===

impl Report {
    pub(crate) fn new(profile: &Profile, configuration: Option<String>) -> Self {
        Self {
            gateway: profile.name.clone(),
            version: profile.version.clone(),
            notes: profile.notes.clone(),
            configuration,
            has_prices: profile.prices.is_some(),
            results: Vec::new(),
        }
    }

    #[must_use]
    pub fn score(&self) -> Score {
        let count = |counts: &dyn Fn(&CheckResult) -> bool| {
            self.results.iter().filter(|result| counts(result)).count()
        };
        let ran = |result: &CheckResult| result.outcome != Outcome::NotRun;
        let failed = |result: &CheckResult| result.outcome == Outcome::Failed;
        let charges = count(&|result| result.is_charge_known);
        let wrong: Picos = self.results.iter().map(|result| result.wrong_picos).sum();
        let per_call = Picos::try_from(charges).ok();
        let per_call = per_call.and_then(|calls| wrong.saturating_mul(THOUSAND).checked_div(calls));
        Score {
            checks: self.results.len(),
            passed: count(&|result| result.outcome == Outcome::Passed),
            failed: count(&failed),
            explained: count(&|result| failed(result) && result.explanation.is_some()),
            not_run: count(&|result| !ran(result)),
            fields_lost: self.results.iter().map(|result| result.fields_lost).sum(),
            streams: count(&|result| result.is_streamed && ran(result)),
            streams_broken: count(&|result| result.is_stream_broken),
            charges,
            usd_wrong_per_1000_calls: per_call.map(|picos| charge::money(picos).to_string()),
        }
    }

    /// Each failed check without an explanation, with what was found.
    #[must_use]
    pub fn unexplained(&self) -> Vec<String> {
        let failed = self
            .results
            .iter()
            .filter(|result| result.outcome == Outcome::Failed && result.explanation.is_none());
        let reported =
            failed.map(|result| format!("{}: {}", result.id, result.findings.join("; ")));
        reported.collect()
    }
}

// === impl CheckResult ===

impl CheckResult {
    pub(crate) fn not_run(check: &Check, why: &str) -> Self {
        Self {
            id: check.id.clone(),
            kind: check.kind,
            about: check.about.clone(),
            outcome: Outcome::NotRun,
            findings: vec![why.to_owned()],
            explanation: None,
            is_streamed: check.streamed,
            is_stream_broken: false,
            fields_lost: 0,
            is_charge_known: false,
            wrong_picos: 0,
            request: String::new(),
            answer: String::new(),
            reference: String::new(),
        }
    }

    pub(crate) fn new(check: &Check, verdict: Verdict, profile: &Profile, seen: &Seen<'_>) -> Self {
        let is_good = verdict.findings.is_empty();
        let kept = if is_good { KEPT_PASSED } else { KEPT_FAILED };
        let explanation = (!is_good).then(|| profile.explanation(&check.id)).flatten();
        Self {
            outcome: match is_good {
                true => Outcome::Passed,
                false => Outcome::Failed,
            },
            findings: verdict.findings,
            explanation: explanation.map(str::to_owned),
            is_stream_broken: verdict.is_stream_broken,
            fields_lost: verdict.fields_lost,
            is_charge_known: verdict.is_charge_known,
            wrong_picos: verdict.wrong,
            request: cut(
                &format!("POST {}\n{}", seen.request.path, seen.request.body),
                kept,
            ),
            answer: cut(&view(seen.answer), kept),
            reference: seen
                .reference
                .map_or_else(String::new, |answer| cut(&view(answer), kept)),
            ..Self::not_run(check, "")
        }
    }
}

/// What the page shows of a check.
pub(crate) struct Seen<'a> {
    pub(crate) request: &'a Request,
    pub(crate) answer: &'a Answer,
    pub(crate) reference: Option<&'a Answer>,
}

fn view(answer: &Answer) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    match &answer.broken {
        Some(why) if answer.status == 0 => format!("no answer: {why}"),
        Some(why) => format!("{}\n{body}\n({why})", answer.status),
        None => format!("{}\n{body}", answer.status),
    }
}

/// The beginning and the end of a text: a stream says at its end why it ended and what it used.
fn cut(text: &str, each: usize) -> String {
    let begins = text.char_indices().nth(each).map(|(place, _)| place);
    let ends = each.checked_sub(1);
    let ends = ends.and_then(|last| text.char_indices().nth_back(last));
    if let Some(begins) = begins
        && let Some((ends, _)) = ends
        && begins < ends
        && let Some(head) = text.get(..begins)
        && let Some(tail) = text.get(ends..)
    {
        return format!("{head} … {tail}");
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_keeps_its_beginning_and_its_end() {
        assert_eq!(cut("grüße", 3), "grüße");
        assert_eq!(cut("grüße an die welt", 3), "grü … elt");
        assert_eq!(cut("", 3), "");
    }
}
