//! The simulator's own counter, for programs outside the process: rules in, truth out.

use bytes::Bytes;
use http::Method;
use serde::Serialize;

use crate::fault::{Fault, Rule};
use crate::house::House;
use crate::refusal::{Refusal, shown};
use crate::truth::Shown;
use crate::video::VideoJob;

/// A status and a JSON document.
pub(crate) struct DeskAnswer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

#[derive(Serialize)]
struct TruthPage<'a> {
    served: Vec<Shown<'a>>,
    forgotten: u64,
    has_more: bool,
}

#[derive(Serialize)]
struct Complaint<'a> {
    error: &'a str,
}

/// Most rules at a time from outside.
const MAX_RULES: usize = 1000;
/// Longest path that can be taken away.
const MAX_PATH_BYTES: usize = 1024;
/// Most records of one page.
const MAX_PAGE: usize = 10_000;

/// Answers what is asked below `/_simulator`.
pub(crate) fn answer(
    house: &House,
    method: &Method,
    path: &str,
    query: &str,
    body: Result<Bytes, Refusal>,
) -> DeskAnswer {
    match (path, method.as_str()) {
        ("/truth", "GET") => truth(house, query),
        ("/truth", "DELETE") => {
            house.truth.forget();
            house.audio.forget();
            house.gallery.forget();
            house.social.forget();
            done()
        }
        ("/images", "GET") => DeskAnswer {
            status: 200,
            body: serde_json::json!({ "calls": house.gallery.calls() }).to_string(),
        },
        ("/social", "GET") => DeskAnswer {
            status: 200,
            body: serde_json::json!({ "calls": house.social.calls() }).to_string(),
        },
        ("/audio", "GET") => DeskAnswer {
            status: 200,
            body: serde_json::json!({ "calls": house.audio.calls() }).to_string(),
        },
        ("/retired", "POST") => match body.ok().as_deref().map(std::str::from_utf8) {
            Some(Ok(path)) if path.starts_with('/') && path.len() <= MAX_PATH_BYTES => {
                house.social.retire(path);
                done()
            }
            Some(_) | None => complaint(400, "the body is a path of social data"),
        },
        ("/retired", "DELETE") => {
            house.social.restore();
            done()
        }
        ("/jobs", "GET") => DeskAnswer {
            status: 200,
            body: jobs(house),
        },
        ("/rules", "POST") => match body {
            Ok(body) => add_rule(house, &body),
            Err(_) => complaint(413, "a rule is a small JSON document"),
        },
        ("/rules", "DELETE") => {
            house.plans().clear();
            done()
        }
        ("/truth" | "/rules" | "/jobs" | "/audio" | "/images" | "/social" | "/retired", _) => {
            complaint(405, "this path does not take that method")
        }
        _ => complaint(
            404,
            "below /_simulator there is truth, jobs, audio, images, social, rules and retired",
        ),
    }
}

/// Every video job with how far it is.
fn jobs(house: &House) -> String {
    let shown = |job: &VideoJob| serde_json::json!({ "job": job, "phase": job.phase() });
    let all: Vec<serde_json::Value> = house.jobs.all().iter().map(shown).collect();
    serde_json::json!({ "jobs": all }).to_string()
}

/// `?after=NUMBER&limit=COUNT`; both may be left out.
fn truth(house: &House, query: &str) -> DeskAnswer {
    let mut after = 0;
    let mut limit = MAX_PAGE;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("after", digits)) => match digits.parse() {
                Ok(number) => after = number,
                Err(_) => return complaint(400, "after takes the number of a record"),
            },
            Some(("limit", digits)) => match digits.parse() {
                Ok(count) if (1..=MAX_PAGE).contains(&count) => limit = count,
                Ok(_) | Err(_) => return complaint(400, "limit takes 1 to 10000"),
            },
            Some(_) | None => return complaint(400, "the query takes after and limit"),
        }
    }
    let page = house.truth.page(after, limit);
    let shown = TruthPage {
        served: page.served.iter().map(|served| served.shown()).collect(),
        forgotten: page.forgotten,
        has_more: page.has_more,
    };
    DeskAnswer {
        status: 200,
        // A struct of texts and numbers always has a JSON form.
        body: serde_json::to_string(&shown).unwrap_or_default(),
    }
}

fn add_rule(house: &House, body: &[u8]) -> DeskAnswer {
    let rule: Rule = match serde_json::from_slice(body) {
        Ok(rule) => rule,
        Err(error) => return complaint(400, &format!("not a rule: {error}")),
    };
    if rule.one_in == 0 || rule.times == Some(0) {
        return complaint(400, "one_in and times are at least 1");
    }
    if let Fault::Status(status) = rule.fault
        && !(400..600).contains(&status)
    {
        return complaint(400, "a status is 400 to 599");
    }
    let mut plans = house.plans();
    if plans.len() >= MAX_RULES {
        return complaint(409, "there are 1000 rules; clear them first");
    }
    plans.add(rule);
    done()
}

fn done() -> DeskAnswer {
    DeskAnswer {
        status: 200,
        body: "{}".to_owned(),
    }
}

fn complaint(status: u16, error: &str) -> DeskAnswer {
    let complaint = Complaint {
        error: shown(error),
    };
    DeskAnswer {
        status,
        body: serde_json::to_string(&complaint).unwrap_or_default(),
    }
}
