//! One HTML page of several reports: scores, then every check with its request and all answers. It loads nothing.

use std::collections::BTreeMap;

use crate::report::{CheckResult, Outcome, Report};

const HEAD: &str = r#"<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>Gateway check</title><style>
body{font:15px/1.5 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;margin:1rem 0}th,td{border-bottom:1px solid #d8dee4;padding:.3rem .7rem;text-align:left;vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums}pre{background:#f6f8fa;padding:.6rem;overflow:auto;max-height:22rem;white-space:pre-wrap;word-break:break-all;font-size:12px}
details{border-bottom:1px solid #eaeef2;padding:.25rem 0}summary{cursor:pointer}code{font-size:13px}
.passed{color:#1a7f37}.failed{color:#cf222e}.not_run{color:#656d76}.tag{display:inline-block;min-width:7.5rem}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}pre{background:#161b22}th,td,details{border-color:#30363d}
.passed{color:#3fb950}.failed{color:#f85149}.not_run{color:#8b949e}}
</style></head><body>
"#;

const INTRODUCTION: &str = "<h1>Gateway check</h1>\n<p>Each check sends one request to a gateway whose upstream is a \
simulator, and the same request to the simulator itself. A check passes if a client would read the same, where the \
rules of the bench say that it should; a rule may be one that a gateway does not set out to keep. Only what is on this \
page was run, with the versions and configurations below.</p>\n";

/// The page. The first report comes first.
#[must_use]
pub fn page(reports: &[Report]) -> String {
    let mut page = String::from(HEAD);
    page.push_str(INTRODUCTION);
    scores(&mut page, reports);
    for report in reports {
        about(&mut page, report);
    }
    page.push_str("<h2>Checks</h2>\n");
    let mut others: Vec<BTreeMap<&str, &CheckResult>> = Vec::new();
    for report in reports {
        let by_id = report
            .results
            .iter()
            .map(|result| (result.id.as_str(), result));
        others.push(by_id.collect());
    }
    for result in reports.first().into_iter().flat_map(|first| &first.results) {
        check(&mut page, result, reports, &others);
    }
    page.push_str("</body></html>\n");
    page
}

fn scores(page: &mut String, reports: &[Report]) {
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
    reports: &[Report],
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
    let ran = (0..reports.len())
        .filter_map(found)
        .find(|one| one.outcome != Outcome::NotRun);
    if let Some(ran) = ran {
        page.push_str(&format!(
            "<p>Request, with this gateway's name of the model</p><pre>{}</pre>\n",
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
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
