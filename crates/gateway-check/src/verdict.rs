//! What an answer is held to, expectation by expectation.

use serde_json::Value;

use crate::charge::{self, Picos, Prices, TOLERANCE};
use crate::check::{Check, Expectation};
use crate::exchange::Answer;
use crate::format::Format;
use crate::reading::Reading;
use crate::shape;
use crate::upstream_log::Record;

/// All that is known of one check.
pub(crate) struct Observed {
    pub(crate) answer: Answer,
    pub(crate) reading: Reading,
    /// What the simulator answers to the same request.
    pub(crate) reference: Reading,
    /// What the gateway sent to it; none if it sent nothing.
    pub(crate) record: Option<Record>,
    /// What the gateway says it charged; none if it does not say.
    pub(crate) charged: Option<Picos>,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Each thing that is not as expected; none is good.
    pub(crate) findings: Vec<String>,
    pub(crate) fields_lost: usize,
    pub(crate) is_stream_broken: bool,
    /// Whether the charge was compared, and by how much it was wrong.
    pub(crate) is_charge_known: bool,
    pub(crate) wrong: Picos,
}

/// Fields that are named in a finding.
const NAMED_FIELDS: usize = 12;
/// Characters of a text that are quoted.
const QUOTED: usize = 80;

pub(crate) fn judge(check: &Check, observed: &Observed, prices: Option<&Prices>) -> Verdict {
    let mut verdict = Verdict::default();
    let status = observed.answer.status;
    if !check.scenario.status.contains(&status) {
        let why = match &observed.answer.broken {
            Some(why) if status == 0 => format!("no answer: {why}"),
            Some(_) | None => format!("status {status}, not {:?}", check.scenario.status),
        };
        verdict.findings.push(why);
        verdict.is_stream_broken = check.streamed;
    }
    // An answer that there is not, or a refusal, has nothing more to compare; its charge still counts.
    let is_refused = !verdict.findings.is_empty() && check.scenario.status.contains(&200);
    for expectation in check.expectations() {
        if expectation.is_about_money() {
            if let Some(prices) = prices {
                verdict.judge_charge(expectation, observed, prices, is_refused);
            }
        } else if is_refused {
            continue;
        } else if expectation == Expectation::Fields {
            verdict.judge_fields(observed);
        } else if expectation == Expectation::Request {
            verdict.judge_request(check, observed);
        } else if matches!(expectation, Expectation::Stream | Expectation::Noticed) {
            if let Some(finding) = of_transport(expectation, observed) {
                verdict.findings.push(finding);
                verdict.is_stream_broken = check.streamed;
            }
        } else {
            verdict.findings.extend(of_content(expectation, observed));
        }
    }
    verdict
}

// === impl Verdict ===

impl Verdict {
    /// A call that was refused although it should have been served costs nothing.
    fn judge_charge(
        &mut self,
        expectation: Expectation,
        observed: &Observed,
        prices: &Prices,
        is_refused: bool,
    ) {
        let Some(charged) = observed.charged else {
            return;
        };
        let record = observed.record.as_ref();
        let reported = record.and_then(|record| prices.of_told(record));
        let (least, most) = match (expectation, reported) {
            (Expectation::Charge, Some(reported)) if !is_refused => (reported, reported),
            (Expectation::ChargeAtMost, _) => {
                (0, record.map_or(0, |record| prices.of_produced(record)))
            }
            _ => (0, 0),
        };
        self.is_charge_known = true;
        let above = charged.saturating_sub(most).max(0);
        let below = least.saturating_sub(charged).max(0);
        let wrong = above.max(below);
        if wrong > TOLERANCE {
            self.wrong = wrong;
            let (charged, most) = (charge::money(charged), charge::money(most));
            self.findings
                .push(format!("charged ${charged}, not ${most}"));
        }
    }

    fn judge_fields(&mut self, observed: &Observed) {
        let expected = shape::paths(&observed.reference.values);
        let found = shape::paths(&observed.reading.values);
        let lost: Vec<&str> = expected.difference(&found).map(String::as_str).collect();
        self.lose("of the answer", "lost", &lost);
    }

    fn judge_request(&mut self, check: &Check, observed: &Observed) {
        let Some(record) = &observed.record else {
            self.findings.push("the upstream was not asked".to_owned());
            return;
        };
        if Format::asked_at(&record.path) != Some(check.upstream) {
            let text = format!("the upstream was asked at {}", record.path);
            self.findings.push(text);
            return;
        }
        let Some(fields) = check.scenario.fields.get(&check.client) else {
            return;
        };
        let mut lost = Vec::new();
        let sent = Value::Object(fields.clone());
        shape::missing(&sent, &record.json(), "", &mut lost);
        let lost: Vec<&str> = lost.iter().map(String::as_str).collect();
        self.lose("of the request", "lost or changed", &lost);
    }

    fn lose(&mut self, of: &str, how: &str, lost: &[&str]) {
        if lost.is_empty() {
            return;
        }
        self.fields_lost = self.fields_lost.saturating_add(lost.len());
        let named: Vec<&str> = lost.iter().take(NAMED_FIELDS).copied().collect();
        let count = lost.len();
        let text = format!("{count} fields {of} {how}: {}", named.join(", "));
        self.findings.push(text);
    }
}

/// What is wrong with how it came.
fn of_transport(expectation: Expectation, observed: &Observed) -> Option<String> {
    let Observed {
        answer,
        reading,
        reference,
        ..
    } = observed;
    let is_cut = !reading.is_ended || !answer.is_whole || reading.unreadable > 0;
    if expectation == Expectation::Noticed {
        let is_noticed = answer.status >= 400 || reading.error.is_some() || is_cut;
        let text = "an answer that is not complete looks complete";
        return (!is_noticed).then(|| text.to_owned());
    }
    if let Some(error) = &reading.error {
        return Some(format!("an error in the stream: {}", quoted(error)));
    }
    if reading.unreadable > 0 {
        return Some(format!("{} frames cannot be read", reading.unreadable));
    }
    if is_cut {
        return Some("the stream has no proper end".to_owned());
    }
    // Some upstreams send a call whole.
    let has_words = !(reading.text.is_empty() && reading.thinking.is_empty());
    let is_held_back = has_words && reference.pieces > 1 && reading.pieces < 2;
    is_held_back.then(|| "the answer came in one piece".to_owned())
}

/// What is wrong with what it says.
fn of_content(expectation: Expectation, observed: &Observed) -> Option<String> {
    let Observed {
        reading, reference, ..
    } = observed;
    let record = observed.record.as_ref();
    match expectation {
        Expectation::Text => differs("text", &reading.text, &reference.text),
        Expectation::Thinking => differs("thinking", &reading.thinking, &reference.thinking),
        Expectation::Calls => {
            let view = |reading: &Reading| {
                let calls = reading.calls.iter();
                let calls = calls.map(|call| format!("{}({})", call.name, call.arguments));
                calls.collect::<Vec<_>>().join(" ")
            };
            differs("calls", &view(reading), &view(reference))
        }
        Expectation::Finish => {
            let word = |reading: &Reading| reading.finish.clone().unwrap_or_default();
            differs("reason of the end", &word(reading), &word(reference))
        }
        Expectation::Usage => {
            let reported = record.and_then(|record| record.told_usage);
            let usage = reading.usage.map(|usage| (usage.input, usage.output));
            (usage != reported).then(|| {
                let (found, reported) = (tokens(usage), tokens(reported));
                format!("usage: {found}; the upstream reported {reported}")
            })
        }
        Expectation::Cached => {
            let reported = record.map(|record| record.cache_read_tokens);
            let cached = reading.usage.map(|usage| usage.cached);
            (cached != reported).then(|| {
                let (found, reported) = (count(cached), count(reported));
                format!("cached tokens: {found}; the upstream reported {reported}")
            })
        }
        Expectation::Reasoning => {
            let reported = reference.usage.map(|usage| usage.reasoning);
            let reasoning = reading.usage.map(|usage| usage.reasoning);
            (reasoning != reported).then(|| {
                let (found, reported) = (count(reasoning), count(reported));
                format!("reasoning tokens: {found}; the upstream reported {reported}")
            })
        }
        Expectation::ErrorBody => {
            let is_lacking = reading.error.is_none();
            is_lacking.then(|| "no error in the shape of the format".to_owned())
        }
        Expectation::RetryAfter => {
            let is_lacking = observed.answer.header("retry-after").is_none();
            is_lacking.then(|| "no retry-after".to_owned())
        }
        Expectation::Stream
        | Expectation::Noticed
        | Expectation::Fields
        | Expectation::Request
        | Expectation::Charge
        | Expectation::ChargeAtMost
        | Expectation::Free => None,
    }
}

fn tokens(usage: Option<(u64, u64)>) -> String {
    usage.map_or_else(
        || "none".to_owned(),
        |(input, output)| format!("{input} in and {output} out"),
    )
}

fn count(tokens: Option<u64>) -> String {
    tokens.map_or_else(|| "none".to_owned(), |tokens| tokens.to_string())
}

fn differs(what: &str, found: &str, expected: &str) -> Option<String> {
    let is_same = found == expected && !expected.is_empty();
    (!is_same).then(|| format!("{what} {}, not {}", quoted(found), quoted(expected)))
}

fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(QUOTED).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
