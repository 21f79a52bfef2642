//! What can go wrong with social data, asked for inside a parameter and by rules.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_simulator::{Fault, Rule, Simulator, SocialFault};

use crate::client::{Response, always, ask, asking, chat, post, started};
use crate::social::{DOUYIN, XIGUA, get};

/// Asks a GET and a POST for the same wish; the answers are alike.
async fn both(simulator: &Simulator, directive: &str) -> [Response; 2] {
    let text = format!("fox%20[[social:{directive}]]");
    let body = json!({ "keyword": format!("fox [[social:{directive}]]") });
    [
        get(simulator, &format!("{XIGUA}?user_id={text}")).await,
        post(simulator, DOUYIN, &body).await,
    ]
}

#[tokio::test]
async fn a_directed_refusal_has_the_vendors_form_and_is_not_billed() {
    let simulator = started().await;
    for (directive, status) in [
        ("400", 400),
        ("401", 401),
        ("402", 402),
        ("403", 403),
        ("404_item", 404),
        ("410", 410),
        ("429:7", 429),
        ("500", 500),
        ("502", 502),
        ("503", 503),
        ("marker", 502),
    ] {
        for got in both(&simulator, directive).await {
            assert_eq!(got.status, status, "{directive}");
            let detail = got.json()["detail"].clone();
            assert_eq!(detail["code"], status, "{directive}");
            assert!(
                detail["router"].is_string() && detail["params"].is_object(),
                "{directive}"
            );
            assert_eq!(detail["request_id"].as_str(), got.header("x-request-id"));
            assert_eq!(got.header("retry-after").is_some(), status == 429);
        }
    }
    let [flat, _] = both(&simulator, "400_flat").await;
    assert_eq!((flat.status, &flat.json()["code"]), (400, &json!(400)));
    let [gone, _] = both(&simulator, "404_path").await;
    assert_eq!(
        (gone.status, gone.json()),
        (404, json!({"detail": "Not Found"}))
    );
    let [form, _] = both(&simulator, "422").await;
    assert_eq!((form.status, form.json()["detail"].is_array()), (422, true));
    let [late, _] = both(&simulator, "429:7").await;
    assert_eq!(late.header("retry-after"), Some("7"));
    let [marked, _] = both(&simulator, "marker").await;
    for word in ["TikHub", "https://api.tikhub.io", "Bearer"] {
        assert!(marked.text().contains(word), "{word}");
    }
    assert!(simulator.social_calls().iter().all(|call| !call.is_billed));
}

#[tokio::test]
async fn an_answer_that_looks_good_and_is_not_is_billed_all_the_same() {
    let simulator = started().await;
    let found = |value: &Value, pointer: &str| value.pointer(pointer).cloned();
    for (directive, xigua, douyin) in [
        (
            "empty",
            ("/data/data", Some(json!({}))),
            ("/data/data", Some(json!([]))),
        ),
        (
            "null",
            ("/data/data", Some(json!(null))),
            ("/data/data", Some(json!(null))),
        ),
        (
            "inner",
            ("/data/BaseResp/StatusCode", Some(json!(10001))),
            ("/data/status_code", Some(json!(2190))),
        ),
        ("no_code", ("/code", None), ("/code", None)),
        (
            "code_400_in_200",
            ("/code", Some(json!(400))),
            ("/data", None),
        ),
        ("no_data", ("/data", None), ("/data", None)),
        (
            "scalar",
            ("/data", Some(json!(7))),
            ("/data", Some(json!(7))),
        ),
    ] {
        let [one, many] = both(&simulator, directive).await;
        assert_eq!(
            (one.status, found(&one.json(), xigua.0)),
            (200, xigua.1),
            "{directive}"
        );
        assert_eq!(
            (many.status, found(&many.json(), douyin.0)),
            (200, douyin.1),
            "{directive}"
        );
    }
    let [_, array] = both(&simulator, "array").await;
    assert_eq!(array.json()["data"].as_array().unwrap().len(), 5);
    let [_, empty] = both(&simulator, "empty").await;
    assert_eq!(empty.json()["data"]["has_more"], 0);
    let [big, _] = both(&simulator, "big").await;
    assert!(big.is_whole && big.body.len() > 5_000_000);
    assert_eq!(big.json()["code"], 200);
    let [page, _] = both(&simulator, "html").await;
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, Some("text/html; charset=utf-8"))
    );
    assert!(page.text().starts_with("<html>"));
    assert!(simulator.social_calls().iter().all(|call| call.is_billed));
}

#[tokio::test]
async fn a_connection_can_hang_close_or_end_in_the_middle() {
    let simulator = started().await;
    let [closed, _] = both(&simulator, "close").await;
    assert_eq!((closed.status, closed.is_closed), (0, true));
    let [cut, _] = both(&simulator, "cut").await;
    assert_eq!(
        (cut.status, cut.is_whole, cut.is_closed),
        (200, false, true)
    );
    assert!(!cut.body.is_empty());
    let hung = get(&simulator, &format!("{XIGUA}?user_id=[[social:hang]]")).await;
    assert_eq!((hung.status, hung.is_closed), (0, false));
    let statuses: Vec<(u16, bool)> = simulator
        .social_calls()
        .iter()
        .map(|call| (call.status, call.is_billed))
        .collect();
    assert_eq!(
        statuses,
        [(0, false), (0, false), (200, true), (200, true), (0, false)]
    );
}

#[tokio::test]
async fn an_answer_can_be_slow_and_a_failure_too() {
    let simulator = started().await;
    for (directive, status) in [
        ("[[social:slow:300]]", 200),
        ("[[social:slow:300]][[social:500]]", 500),
    ] {
        let begun = Instant::now();
        let got = get(&simulator, &format!("{XIGUA}?user_id={directive}")).await;
        assert_eq!(got.status, status);
        assert!(begun.elapsed() >= Duration::from_millis(300));
    }
}

#[tokio::test]
async fn a_wish_that_is_misspelled_is_refused() {
    let simulator = started().await;
    let [got, _] = both(&simulator, "nonsense").await;
    let message = got.json()["detail"]["message"].as_str().unwrap().to_owned();
    assert_eq!(got.status, 400);
    assert!(message.starts_with("simulator_directive"), "{message}");
}

#[tokio::test]
async fn a_rule_strikes_the_path_it_names_as_often_as_it_says_and_no_model() {
    let simulator = started().await;
    simulator.plan(Rule {
        times: Some(2),
        model: Some(XIGUA.to_owned()),
        ..always(Fault::Social(SocialFault::Status(503)))
    });
    let ask_xigua = || get(&simulator, "/api/v1/xigua/app/v2/fetch_user_info?user_id=1");
    assert_eq!(
        post(&simulator, DOUYIN, &json!({"keyword": "fox"}))
            .await
            .status,
        200
    );
    assert_eq!(chat(&simulator, &asking("hello")).await.status, 200);
    assert_eq!(ask_xigua().await.status, 503);
    assert_eq!(ask_xigua().await.status, 503);
    assert_eq!(ask_xigua().await.status, 200);
    // From outside, for a list without any parameter.
    let rule =
        br#"{"fault": {"social": "empty"}, "model": "/api/v1/douyin/web/fetch_hot_search_result"}"#;
    assert_eq!(
        ask(&simulator, "POST", "/_simulator/rules", "", rule)
            .await
            .status,
        200
    );
    let trending = get(&simulator, "/api/v1/douyin/web/fetch_hot_search_result").await;
    assert_eq!(trending.json()["data"]["data"]["word_list"], json!([]));
    let wrong = br#"{"fault": {"social": "nonsense"}}"#;
    assert_eq!(
        ask(&simulator, "POST", "/_simulator/rules", "", wrong)
            .await
            .status,
        400
    );
    // A rule of a model leaves social data alone.
    simulator.plan(always(Fault::Status(500)));
    assert_eq!(ask_xigua().await.status, 200);
}

#[tokio::test]
async fn a_path_that_was_retired_is_gone_until_it_is_given_back() {
    let simulator = started().await;
    let gone = json!({"detail": "Not Found"});
    let plain = format!("{XIGUA}?user_id=1");
    let directive = get(&simulator, &format!("{XIGUA}?user_id=[[social:retire]]")).await;
    assert_eq!((directive.status, directive.json()), (404, gone.clone()));
    assert_eq!(get(&simulator, &plain).await.json(), gone);
    assert_eq!(
        post(&simulator, DOUYIN, &json!({"keyword": "fox"}))
            .await
            .status,
        200
    );
    simulator.restore_social_paths();
    assert_eq!(get(&simulator, &plain).await.status, 200);
    simulator.retire_social_path(XIGUA);
    assert_eq!(get(&simulator, &plain).await.json(), gone);
    assert_eq!(
        ask(&simulator, "DELETE", "/_simulator/retired", "", b"")
            .await
            .status,
        200
    );
    assert_eq!(get(&simulator, &plain).await.status, 200);
    let body = XIGUA.as_bytes();
    assert_eq!(
        ask(&simulator, "POST", "/_simulator/retired", "", body)
            .await
            .status,
        200
    );
    assert_eq!(get(&simulator, &plain).await.json(), gone);
    assert_eq!(
        ask(&simulator, "POST", "/_simulator/retired", "", b"x")
            .await
            .status,
        400
    );
    assert_eq!(
        ask(&simulator, "PUT", "/_simulator/retired", "", b"")
            .await
            .status,
        405
    );
}
