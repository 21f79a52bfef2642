//! The simulator's control API, for programs outside the process: rules in, request records out.

use bytes::Bytes;
use http::Method;
use serde::Serialize;
use serde_json::json;

use crate::fault::{Fault, Rule};
use crate::refusal::{Refusal, shortened};
use crate::script::Script;
use crate::shared_state::SharedState;
use crate::video_jobs::VideoJob;

/// Most rules at a time from outside.
const MAX_RULES: usize = 1000;
/// Longest path that can be retired.
const MAX_PATH_BYTES: usize = 1024;
/// Most records of one page.
const MAX_PAGE: usize = 10_000;

/// Answers what is asked below `/_simulator`.
pub(crate) fn answer(
    state: &SharedState,
    method: &Method,
    path: &str,
    query: &str,
    body: Result<Bytes, Refusal>,
) -> Script {
    match (path, method.as_str()) {
        ("/requests", "GET") => requests(state, query),
        ("/requests", "DELETE") => {
            state.clear_requests();
            done()
        }
        ("/images", "GET") => ok(&json!({ "calls": state.images.calls() })),
        ("/social", "GET") => ok(&json!({ "calls": state.social.calls() })),
        ("/realtime", "GET") => ok(&json!({ "connections": state.realtime.all() })),
        ("/audio", "GET") => ok(&json!({ "calls": state.audio.calls() })),
        ("/jobs", "GET") => {
            let view = |job: &VideoJob| json!({ "job": job, "phase": job.phase() });
            let jobs: Vec<_> = state.jobs.all().iter().map(view).collect();
            ok(&json!({ "jobs": jobs }))
        }
        ("/retired", "POST") => match body.ok().as_deref().map(std::str::from_utf8) {
            Some(Ok(path)) if path.starts_with('/') && path.len() <= MAX_PATH_BYTES => {
                state.social.retire(path);
                done()
            }
            Some(_) | None => error(400, "the body is a path of social data"),
        },
        ("/retired", "DELETE") => {
            state.social.restore();
            done()
        }
        ("/rules", "POST") => match body {
            Ok(body) => add_rule(state, &body),
            Err(_) => error(413, "a rule is a small JSON document"),
        },
        ("/rules", "DELETE") => {
            state.plans().clear();
            done()
        }
        (
            "/requests" | "/rules" | "/jobs" | "/audio" | "/images" | "/realtime" | "/social"
            | "/retired",
            _,
        ) => error(405, "this path does not take that method"),
        _ => error(
            404,
            "below /_simulator there is requests, jobs, audio, images, realtime, social, rules and retired",
        ),
    }
}

fn requests(state: &SharedState, query: &str) -> Script {
    let mut after = 0;
    let mut limit = MAX_PAGE;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("after", digits)) => match digits.parse() {
                Ok(number) => after = number,
                Err(_) => return error(400, "after takes the number of a record"),
            },
            Some(("limit", digits)) => match digits.parse() {
                Ok(count) if (1..=MAX_PAGE).contains(&count) => limit = count,
                Ok(_) | Err(_) => return error(400, "limit takes 1 to 10000"),
            },
            Some(_) | None => return error(400, "the query takes after and limit"),
        }
    }
    ok(&state.requests.page(after, limit))
}

fn add_rule(state: &SharedState, body: &[u8]) -> Script {
    let rule: Rule = match serde_json::from_slice(body) {
        Ok(rule) => rule,
        Err(wrong) => return error(400, &format!("not a rule: {wrong}")),
    };
    if rule.one_in == 0 || rule.times == Some(0) {
        return error(400, "one_in and times are at least 1");
    }
    if let Fault::Status(status) = rule.fault
        && !(400..600).contains(&status)
    {
        return error(400, "a status is 400 to 599");
    }
    let mut plans = state.plans();
    if plans.len() >= MAX_RULES {
        return error(409, "there are 1000 rules; clear them first");
    }
    plans.add(rule);
    done()
}

fn done() -> Script {
    ok(&json!({}))
}

fn ok(document: &impl Serialize) -> Script {
    // Structs of texts and numbers always have a JSON form.
    let body = serde_json::to_string(document).unwrap_or_default();
    Script::json(200, None, body)
}

fn error(status: u16, message: &str) -> Script {
    let body = json!({ "error": shortened(message) }).to_string();
    Script::json(status, None, body)
}
