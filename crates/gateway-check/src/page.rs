//! One HTML page of several reports: scores, then every check with its request and all answers. It loads nothing.

use std::collections::BTreeMap;

use crate::check::Kind;
use crate::report::{CheckResult, Outcome, Report};

const HEAD: &str = r#"<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>Gateway check</title><style>
body{font:15px/1.5 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;margin:1rem 0}th,td{border-bottom:1px solid #d8dee4;padding:.3rem .7rem;text-align:left;vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums}pre{background:#f6f8fa;padding:.6rem;overflow:auto;max-height:22rem;white-space:pre-wrap;word-break:break-all;font-size:12px}
details{border-bottom:1px solid #eaeef2;padding:.25rem 0}summary{cursor:pointer}code{font-size:13px}
.passed{color:#1a7f37}.failed{color:#cf222e}.not_run{color:#656d76}.tag{display:inline-block;min-width:7rem}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}pre{background:#161b22}th,td,details{border-color:#30363d}
.passed{color:#3fb950}.failed{color:#f85149}.not_run{color:#8b949e}}
</style></head><body>
"#;

const INTRODUCTION: &str = r#"<h1>Gateway check</h1>
<p>Each check sends one request to a gateway whose upstream is a simulator, and the same request to the simulator itself. A check passes if a client would read the same, where the rules of the bench say that it should. “Not run” is what a gateway does not offer, or was not set up for; it is no failure.</p>
<p>The bench is a part of Trunkline: its rules were written there, and Trunkline is developed until it passes them, which no other gateway on this page was. So the sums are no ranking. A failed check says that an answer differs from a rule, not that the gateway is wrong: there are good reasons to do otherwise, such as passing the vendor's status on, and gateways do much that no check is about. Each check shows its request and the answers, so that a reader can judge.</p>
<p>Only what is on this page was run, once, with the versions and configurations below. Charges are compared where a gateway says what a call has cost. The command that repeats it is <code>just gateway-check-peers</code> in Trunkline's repository; a configuration or a rule that is not fair to a gateway is a defect there.</p>
"#;

/// The page, with the gateways in the order of their names.
#[must_use]
pub fn page(reports: &[Report]) -> String {
    let mut sorted: Vec<&Report> = reports.iter().collect();
    sorted.sort_by_key(|report| report.gateway.to_lowercase());
    let mut page = String::from(HEAD);
    page.push_str(INTRODUCTION);
    scores(&mut page, &sorted);
    kinds(&mut page, &sorted);
    for report in &sorted {
        about(&mut page, report);
    }
    page.push_str("<h2>Checks</h2>\n");
    let mut by_id: Vec<BTreeMap<&str, &CheckResult>> = Vec::new();
    for report in &sorted {
        let own = report.results.iter();
        by_id.push(own.map(|result| (result.id.as_str(), result)).collect());
    }
    for result in sorted.first().into_iter().flat_map(|first| &first.results) {
        check(&mut page, result, &sorted, &by_id);
    }
    page.push_str("</body></html>\n");
    page
}

/// Passed checks of those that were run, by what they are about.
fn kinds(page: &mut String, reports: &[&Report]) {
    page.push_str("<table><tr><th>Passed of run</th>");
    for kind in Kind::ALL {
        page.push_str(&format!("<th>{}</th>", kind.as_str()));
    }
    page.push_str("</tr>\n");
    for report in reports {
        page.push_str(&format!("<tr><td>{}</td>", escaped(&report.gateway)));
        for kind in Kind::ALL {
            let ran =
                |result: &&CheckResult| result.kind == kind && result.outcome != Outcome::NotRun;
            let ran: Vec<&CheckResult> = report.results.iter().filter(ran).collect();
            let passed = ran.iter().filter(|one| one.outcome == Outcome::Passed);
            let cell = match ran.len() {
                0 => "\u{2013}".to_owned(),
                ran => format!("{} of {ran}", passed.count()),
            };
            page.push_str(&format!("<td class=n>{cell}</td>"));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table>\n");
}

fn scores(page: &mut String, reports: &[&Report]) {
    page.push_str(
        "<table><tr><th>Gateway</th><th>Version</th><th>Passed</th><th>Failed</th><th>Not run</th>\
         <th>USD wrong per 1,000 calls</th><th>Fields lost</th><th>Streams broken</th></tr>\n",
    );
    for report in reports {
        let score = report.score();
        let money = match &score.usd_wrong_per_1000_calls {
            Some(usd) if report.has_prices => format!("{usd} ({} calls)", score.charges),
            Some(_) | None => "without money".to_owned(),
        };
        let failed = match score.explained {
            0 => score.failed.to_string(),
            explained => format!("{} ({explained} explained)", score.failed),
        };
        let cells = [
            score.passed.to_string(),
            failed,
            score.not_run.to_string(),
            money,
            score.fields_lost.to_string(),
            format!("{} of {}", score.streams_broken, score.streams),
        ];
        let version = report.version.as_deref().unwrap_or_default();
        let names = format!(
            "<td>{}</td><td>{}</td>",
            escaped(&report.gateway),
            escaped(version)
        );
        let cells: String = cells
            .iter()
            .map(|cell| format!("<td class=n>{}</td>", escaped(cell)))
            .collect();
        page.push_str(&format!("<tr>{names}{cells}</tr>\n"));
    }
    page.push_str("</table>\n");
}

fn about(page: &mut String, report: &Report) {
    let version = report.version.as_deref().unwrap_or_default();
    page.push_str(&format!(
        "<h2>{} {}</h2>\n",
        escaped(&report.gateway),
        escaped(version)
    ));
    for note in &report.notes {
        page.push_str(&format!("<p>{}</p>\n", escaped(note)));
    }
    if let Some(text) = &report.configuration {
        let text = escaped(text);
        page.push_str(&format!(
            "<details><summary>Configuration</summary><pre>{text}</pre></details>\n"
        ));
    }
}

fn check(
    page: &mut String,
    result: &CheckResult,
    reports: &[&Report],
    by_id: &[BTreeMap<&str, &CheckResult>],
) {
    let found = |number: usize| {
        by_id
            .get(number)
            .and_then(|known| known.get(result.id.as_str()))
    };
    page.push_str("<details><summary>");
    for number in 0..reports.len() {
        let outcome = found(number).map_or(Outcome::NotRun, |one| one.outcome);
        let name = reports
            .get(number)
            .map_or("", |report| report.gateway.as_str());
        let class = outcome.as_str();
        page.push_str(&format!(
            "<span class=\"tag {class}\">{} {}</span>",
            outcome.mark(),
            escaped(name)
        ));
    }
    let (kind, about) = (result.kind.as_str(), escaped(&result.about));
    page.push_str(&format!(
        "<code>{}</code> ({kind}) {about}</summary>\n",
        escaped(&result.id)
    ));
    // Of a failed check more is kept.
    let ran = (0..reports.len())
        .filter_map(|number| Some((reports.get(number)?, found(number)?)))
        .filter(|(_, one)| one.outcome != Outcome::NotRun)
        .max_by_key(|(_, one)| one.outcome == Outcome::Failed);
    if let Some((report, ran)) = ran {
        page.push_str(&format!(
            "<p>Request, as it was sent to {}</p><pre>{}</pre>\n",
            escaped(&report.gateway),
            escaped(&ran.request)
        ));
        page.push_str(&format!(
            "<p>The simulator itself</p><pre>{}</pre>\n",
            escaped(&ran.reference)
        ));
    }
    for (number, report) in reports.iter().enumerate() {
        if let Some(one) = found(number) {
            answer(page, &report.gateway, one);
        }
    }
    page.push_str("</details>\n");
}

fn answer(page: &mut String, gateway: &str, result: &CheckResult) {
    let class = result.outcome.as_str();
    let findings = escaped(&result.findings.join("; "));
    page.push_str(&format!(
        "<p class={class}>{}: {findings}",
        escaped(gateway)
    ));
    if let Some(why) = &result.explanation {
        page.push_str(&format!(" (explained: {})", escaped(why)));
    }
    page.push_str(&format!("</p><pre>{}</pre>\n", escaped(&result.answer)));
}

/// A text between tags; none of ours stands in an attribute.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

// === impl Outcome ===

impl Outcome {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotRun => "not_run",
        }
    }

    const fn mark(self) -> &'static str {
        match self {
            Self::Passed => "\u{2713}",
            Self::Failed => "\u{2717}",
            Self::NotRun => "\u{2013}",
        }
    }
}
