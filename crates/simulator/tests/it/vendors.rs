//! One table over all vendors: a prompt's directives mean the same at each of them. What a vendor
//! calls things is in `tongues`.

use serde_json::json;
use trunkline_simulator::Simulator;

use crate::client::{served, started};
use crate::translated;
use crate::vendor_clients::{ALL, DecodedAnswer, Ending, Question, Vendor};

/// How an answer is asked for.
const FORMS: [bool; 2] = [false, true];

fn calls_of(list: &[(&str, serde_json::Value)]) -> Vec<(String, serde_json::Value)> {
    list.iter()
        .map(|(name, arguments)| ((*name).to_owned(), arguments.clone()))
        .collect()
}

/// One question to a simulator of its own; the record must agree with what was told.
async fn decoded(vendor: Vendor, question: &Question, streams: bool) -> DecodedAnswer {
    let simulator = started().await;
    let decoded = vendor.ask(&simulator, question, streams).await;
    let record = served(&simulator, |served| served.finished).await;
    let note = format!("{vendor:?} {streams} {}", question.prompt);
    assert_eq!(record.completion_tokens, decoded.output, "{note}");
    assert_eq!(record.prompt_tokens, decoded.input, "{note}");
    assert_eq!(record.cache_read_tokens, decoded.cached, "{note}");
    assert_eq!(
        record.told_usage,
        Some((decoded.input, decoded.output)),
        "{note}"
    );
    simulator.stop().await;
    decoded
}

#[tokio::test]
async fn lengths_limits_caches_and_refusals_mean_the_same_everywhere() {
    for vendor in ALL {
        for streams in FORMS {
            let note = format!("{vendor:?} {streams}");
            let reply = decoded(vendor, &Question::new("[[tokens:7]]"), streams).await;
            assert_eq!(reply.text, "sim1 sim2 sim3 sim4 sim5 sim6 sim7 ", "{note}");
            assert_eq!((reply.output, reply.ending), (7, Ending::Stop), "{note}");

            let question = Question {
                limit: 20,
                ..Question::new("[[tokens:30]]")
            };
            let reply = decoded(vendor, &question, streams).await;
            assert_eq!((reply.output, reply.ending), (20, Ending::Length), "{note}");

            let reply = decoded(vendor, &Question::new("[[refusal:3]]"), streams).await;
            assert_eq!(reply.text, "sim1 sim2 sim3 ", "{note}");
            assert_eq!((reply.output, reply.ending), (3, Ending::Refusal), "{note}");

            let prompt = "one two three four five six [[cached:4]]";
            let reply = decoded(vendor, &Question::new(prompt), streams).await;
            assert_eq!((reply.cached, reply.output), (4, 6), "{note}");
            assert!(reply.input > reply.cached, "{note}");
        }
    }
}

#[tokio::test]
async fn a_thinking_model_thinks_as_much_as_it_is_told() {
    for vendor in ALL {
        for streams in FORMS {
            let question = Question {
                thinks: true,
                ..Question::new("[[reasoning:5]] [[tokens:2]]")
            };
            let reply = decoded(vendor, &question, streams).await;
            let note = format!("{vendor:?} {streams}");
            assert_eq!(reply.thought, "sim1 sim2 sim3 sim4 sim5 ", "{note}");
            assert_eq!(reply.text, "sim1 sim2 ", "{note}");
            assert_eq!(reply.output, 7, "{note}");
        }
    }
}

#[tokio::test]
async fn every_way_to_ask_for_calls_works_everywhere() {
    let made_up = json!({"deep": true});
    let written = r#"[[call:Read {"path": "a ]] b"}]] [[call:Read {"path": "c"}]] [[tool:list]]"#;
    let cases = [
        (
            written,
            calls_of(&[
                ("Read", json!({"path": "a ]] b"})),
                ("Read", json!({"path": "c"})),
                ("list", made_up.clone()),
            ]),
        ),
        (
            "[[tools:list,list]]",
            calls_of(&[("list", made_up.clone()), ("list", made_up.clone())]),
        ),
        (
            "[[tool:list]] [[tool:unknown]] [[call:list {}]]",
            calls_of(&[("list", made_up), ("list", json!({}))]),
        ),
    ];
    for vendor in ALL {
        for streams in FORMS {
            for (prompt, calls) in &cases {
                for thinks in [false, true] {
                    let question = Question {
                        tools: true,
                        thinks,
                        ..Question::new(prompt)
                    };
                    let reply = decoded(vendor, &question, streams).await;
                    let note = format!("{vendor:?} {streams} {thinks} {prompt}");
                    assert_eq!(&reply.calls, calls, "{note}");
                    assert_eq!(
                        (reply.text.as_str(), reply.ending),
                        ("", Ending::Calls),
                        "{note}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn results_are_answered_with_a_text_and_a_new_prompt_calls_again() {
    for vendor in ALL {
        for (streams, thinks) in [(false, false), (true, true)] {
            let note = format!("{vendor:?} {streams}");
            let simulator = started().await;
            let prompt = r#"[[tools:list,list]] [[call:Read {"path": "a"}]] [[tokens:3]]"#;
            let mut question = Question {
                tools: true,
                thinks,
                ..Question::new(prompt)
            };
            let reply = vendor.ask(&simulator, &question, streams).await;
            assert_eq!(reply.calls.len(), 3, "{note}");
            question.answered = Some(reply);
            let reply = vendor.ask(&simulator, &question, streams).await;
            assert_eq!(
                (reply.ending, reply.calls.len()),
                (Ending::Stop, 0),
                "{note}"
            );
            assert_eq!(reply.text, "sim1 sim2 sim3 ", "{note}");
            question.behind = Some(r#"Again. [[call:Read {"path": "d"}]]"#.to_owned());
            let reply = vendor.ask(&simulator, &question, streams).await;
            let repeated = calls_of(&[("Read", json!({"path": "d"}))]);
            assert_eq!(reply.calls, repeated, "{note}");
            simulator.stop().await;
        }
    }
}

#[tokio::test]
async fn faults_strike_at_every_vendor() {
    for vendor in ALL {
        let simulator = started().await;
        for (fault, status) in [
            ("status:500", 500),
            ("status:503", 503),
            ("rate_limited:7", 429),
            ("close_before_headers", 0),
        ] {
            for streams in FORMS {
                let got = fault_of(vendor, &simulator, fault, streams).await;
                assert_eq!(got.status, status, "{vendor:?} {streams} {fault}");
            }
        }
        for fault in ["close_mid_stream:2", "truncated_json", "error_inside200"] {
            for streams in FORMS {
                let got = fault_of(vendor, &simulator, fault, streams).await;
                let note = format!("{vendor:?} {streams} {fault}");
                assert_eq!(got.status, 200, "{note}");
                let record = simulator.requests().pop().unwrap();
                assert!(!record.finished, "{note}");
            }
        }
        let question = Question::new("one two [[fault:lying_usage:3]]");
        let lied = vendor.ask(&simulator, &question, true).await;
        let record = simulator.requests().pop().unwrap();
        let reported = (record.prompt_tokens * 3, record.completion_tokens * 3);
        assert_eq!((lied.input, lied.output), reported, "{vendor:?}");
        simulator.stop().await;
    }
}

async fn fault_of(
    vendor: Vendor,
    simulator: &Simulator,
    fault: &str,
    streams: bool,
) -> crate::client::Response {
    let question = Question::new(&format!("[[tokens:9]] [[fault:{fault}]]"));
    vendor.send(simulator, &question, streams).await
}

#[tokio::test]
async fn any_name_of_the_family_is_a_model_everywhere_and_no_other() {
    for vendor in ALL {
        let simulator = started().await;
        for (model, is_known) in [("sim-any.name_1-5", true), ("other-1", false)] {
            let question = Question {
                model: Some(model),
                ..Question::new("hello")
            };
            let got = vendor.send(&simulator, &question, false).await;
            assert_eq!(got.status == 200, is_known, "{vendor:?} {model}");
        }
        simulator.stop().await;
    }
}

#[tokio::test]
async fn what_a_translating_gateway_sends_is_accepted() {
    let simulator = started().await;
    for (vendor, model, body) in translated::all() {
        for streams in FORMS {
            let got = vendor.post(&simulator, model, body.clone(), streams).await;
            let reply = String::from_utf8_lossy(&got.body).into_owned();
            assert_eq!(got.status, 200, "{vendor:?} {streams}: {reply}");
        }
    }
    simulator.stop().await;
}
