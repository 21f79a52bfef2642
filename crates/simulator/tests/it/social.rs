//! The source of social data over a real socket: its endpoints, its parameters, its envelope and its
//! record. The vendor's SDK, which calls every path, has a test of its own.

use serde_json::{Value, json};
use tokio::task::JoinSet;
use trunkline_simulator::{Settings, Simulator, SocialSettings};

use crate::client::{Response, ask, post, started};

pub(crate) const KEY: &str = "authorization: Bearer sk-test-1234\r\n";
pub(crate) const DOUYIN: &str = "/api/v1/douyin/search/fetch_general_search_v1";
pub(crate) const XIGUA: &str = "/api/v1/xigua/app/v2/fetch_user_info";
const WECHAT: &str = "/api/v1/wechat_search/v2/fetch_search";
const COMMENTS: &str = "/api/v1/douyin/app/v3/fetch_video_comments";

pub(crate) async fn get(simulator: &Simulator, path: &str) -> Response {
    ask(simulator, "GET", path, KEY, b"").await
}

/// The places of what is wrong, and how it is called.
fn details(got: &Response) -> Vec<(Value, String)> {
    let reported = got.json();
    let list = reported["detail"].as_array().expect("a list of complaints");
    let one = |detail: &Value| {
        let kind = detail["type"].as_str().unwrap().to_owned();
        (detail["loc"].clone(), kind)
    };
    list.iter().map(one).collect()
}

#[tokio::test]
async fn a_good_answer_has_the_whole_envelope_and_names_its_request_twice() {
    let simulator = started().await;
    let got = get(&simulator, &format!("{COMMENTS}?aweme_id=73&count=20")).await;
    let reported = got.json();
    assert_eq!((got.status, &reported["code"]), (200, &json!(200)));
    assert_eq!(reported["request_id"].as_str(), got.header("x-request-id"));
    assert_eq!(reported["router"], COMMENTS);
    assert_eq!(reported["params"], json!({"aweme_id": "73", "count": "20"}));
    assert_eq!(reported["time_zone"], "America/Los_Angeles");
    for field in [
        "message",
        "message_zh",
        "support",
        "time",
        "time_stamp",
        "docs",
        "cache_message",
        "cache_message_zh",
        "cache_url",
    ] {
        assert!(!reported[field].is_null(), "{field}");
    }
    assert_eq!(reported["data"]["status_code"], 0);
    assert_eq!(reported["data"]["comments"].as_array().unwrap().len(), 5);
    // The same question has the same data.
    let repeated = get(&simulator, &format!("{COMMENTS}?aweme_id=73&count=20")).await;
    assert_eq!(repeated.json()["data"], reported["data"]);
}

#[tokio::test]
async fn path_method_token_and_parameters_are_checked_in_this_order() {
    let settings = Settings {
        keys: vec!["sk-test-1234".to_owned()],
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let stranger = "authorization: Bearer unknown\r\n";
    for (method, path, head, status, detail) in [
        ("GET", "/api/v1/douyin/nothing", "", 404, json!("Not Found")),
        ("GET", DOUYIN, "", 405, json!("Method Not Allowed")),
        ("POST", COMMENTS, "", 405, json!("Method Not Allowed")),
        ("HEAD", COMMENTS, KEY, 405, Value::Null),
        ("GET", COMMENTS, "", 401, Value::Null),
        ("GET", COMMENTS, stranger, 401, Value::Null),
        ("POST", DOUYIN, stranger, 401, Value::Null),
        ("GET", COMMENTS, KEY, 422, Value::Null),
    ] {
        let got = ask(&simulator, method, path, head, b"").await;
        assert_eq!(got.status, status, "{method} {path}");
        if !detail.is_null() {
            assert_eq!(got.json(), json!({ "detail": detail }), "{method} {path}");
        }
        if status == 401 {
            let reported = got.json();
            assert_eq!(
                (&reported["detail"]["code"], &reported["detail"]["router"]),
                (&json!(401), &json!(path))
            );
        }
    }
    assert!(simulator.social_calls().iter().all(|call| !call.is_billed));
}

#[tokio::test]
async fn missing_and_mistyped_parameters_are_listed_and_unknown_ignored() {
    let simulator = started().await;
    let place = |place: &str, name: &str, kind: &str| (json!([place, name]), kind.to_owned());
    for (query, wrong) in [
        ("", vec![place("query", "aweme_id", "missing")]),
        (
            "cursor=x&count=1.5",
            vec![
                place("query", "aweme_id", "missing"),
                place("query", "cursor", "int_parsing"),
                place("query", "count", "int_parsing"),
            ],
        ),
        (
            "aweme_id=1&count=",
            vec![place("query", "count", "int_parsing")],
        ),
    ] {
        let got = get(&simulator, &format!("{COMMENTS}?{query}")).await;
        assert_eq!((got.status, details(&got)), (422, wrong), "{query}");
    }
    for (body, name, kind) in [
        (json!({"keyword": 7}), "keyword", "string_type"),
        (
            json!({"keyword": "fox", "cursor": "7"}),
            "cursor",
            "int_parsing",
        ),
        (
            json!({"keyword": "fox", "cursor": 1.5}),
            "cursor",
            "int_type",
        ),
        (
            json!({"keyword": "fox", "sort_type": 0}),
            "sort_type",
            "string_type",
        ),
        (json!({"keyword": null}), "keyword", "string_type"),
    ] {
        let got = post(&simulator, DOUYIN, &body).await;
        assert_eq!(
            (got.status, details(&got)),
            (422, vec![place("body", name, kind)]),
            "{body}"
        );
    }
    let broken = ask(&simulator, "POST", DOUYIN, KEY, b"{").await;
    assert_eq!(
        (broken.status, &broken.json()["detail"][0]["type"]),
        (422, &json!("json_invalid"))
    );
    assert_eq!(ask(&simulator, "POST", DOUYIN, KEY, b"").await.status, 422);
    let extra = json!({"keyword": "fox", "offset": "x", "unknown": [1]});
    assert_eq!(post(&simulator, DOUYIN, &extra).await.status, 200);
}

#[tokio::test]
async fn wechat_takes_words_or_numbers_and_refuses_other_words_with_400() {
    let simulator = started().await;
    for (body, status) in [
        (
            json!({"keyword": "fox", "sort": "hot", "publish_time": 3}),
            200,
        ),
        (
            json!({"keyword": "fox", "sort": "2", "business_type": "article"}),
            200,
        ),
        (json!({"keyword": "fox", "sort": "sideways"}), 400),
        (json!({"keyword": "fox", "publish_time": 4}), 400),
        (json!({"keyword": "fox", "business_type": "weather"}), 400),
        (json!({"keyword": "fox", "raw": "false"}), 422),
        (json!({"keyword": ""}), 422),
        (json!({"keyword": "x".repeat(100)}), 200),
        (json!({"keyword": "x".repeat(101)}), 422),
    ] {
        assert_eq!(
            post(&simulator, WECHAT, &body).await.status,
            status,
            "{body}"
        );
    }
    let articles = "/api/v1/wechat_mp/v2/fetch_account_articles";
    for (kind, status) in [
        (json!(5), 200),
        (json!(null), 200),
        (json!(6), 400),
        (json!("5"), 422),
    ] {
        let body = json!({"username": "gh_1", "item_show_type": kind});
        assert_eq!(
            post(&simulator, articles, &body).await.status,
            status,
            "{body}"
        );
    }
}

#[tokio::test]
async fn raw_and_need_format_choose_between_two_shapes() {
    let simulator = started().await;
    let detail = "/api/v1/wechat_channels/v2/fetch_video_detail";
    let body = |raw: Value| json!({"object_id": "1", "raw": raw});
    let raw = post(&simulator, detail, &body(json!(true))).await.json()["data"].clone();
    assert_eq!(raw["baseResponse"]["ret"], 0);
    assert!(raw["objects"][0]["id"].as_u64().unwrap() > 1 << 53);
    let short = post(&simulator, detail, &body(json!(false))).await.json()["data"].clone();
    assert!(short["id"].is_u64() && short["media"]["decode_key"].is_u64());
    let video = "/api/v1/youtube/web_v2/get_video_info_v2?video_id=a";
    let cleaned = get(&simulator, &format!("{video}&need_format=1"))
        .await
        .json();
    assert_eq!(cleaned["data"]["title"], "Item 0 of what was asked for");
    let whole = get(&simulator, &format!("{video}&need_format=false"))
        .await
        .json();
    assert_eq!(whole["data"]["playabilityStatus"]["status"], "OK");
}

#[tokio::test]
async fn one_of_a_group_is_needed() {
    let simulator = started().await;
    let note = "/api/v1/xiaohongshu/app_v2/get_image_note_detail";
    for (query, status) in [
        ("", 400),
        ("note_id=", 400),
        ("note_id=1", 200),
        ("share_text=a", 200),
    ] {
        assert_eq!(
            get(&simulator, &format!("{note}?{query}")).await.status,
            status,
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_call_is_recorded_as_it_came_and_billed_if_it_was_good() {
    let simulator = started().await;
    let query = "aweme_id=%2B%2F%3D%20%E7%8B%90&cursor=9223372036854775807";
    assert_eq!(
        get(&simulator, &format!("{COMMENTS}?{query}")).await.status,
        400
    );
    let body = br#"{"keyword": "[[id:one]]", "cursor": 0, "extra": 92233720368547758079}"#;
    assert_eq!(ask(&simulator, "POST", DOUYIN, KEY, body).await.status, 200);
    let calls = simulator.social_calls();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        (calls[0].query.as_str(), calls[0].status, calls[0].is_billed),
        (query, 400, false)
    );
    assert_eq!(
        calls[0].params,
        [
            pair("aweme_id", "+/= 狐"),
            pair("cursor", "9223372036854775807")
        ]
    );
    assert_eq!(
        (calls[1].body.as_bytes(), calls[1].marker.as_deref()),
        (&body[..], Some("one"))
    );
    assert!(
        calls[1]
            .params
            .contains(&pair("extra", "92233720368547758079"))
    );
    assert_eq!(
        (
            calls[1].is_billed,
            calls[1].cost_micros,
            calls[1].key.as_str()
        ),
        (true, 10_000, "1234")
    );
    let truth = simulator.requests();
    assert_eq!(
        (truth[1].marker.as_deref(), truth[1].model.as_str()),
        (Some("one"), DOUYIN)
    );
    // The control API tells the same to outside clients.
    let reported = ask(&simulator, "GET", "/_simulator/social", "", b"")
        .await
        .json();
    assert_eq!(reported["calls"][1]["params"], json!(calls[1].params));
    assert_eq!(
        ask(&simulator, "DELETE", "/_simulator/requests", "", b"")
            .await
            .status,
        200
    );
    assert!(simulator.social_calls().is_empty());
}

#[tokio::test]
async fn a_token_that_asks_too_often_is_refused_and_told_when_to_come_back() {
    assert_eq!(SocialSettings::VENDORS_RATE, 10);
    let settings = Settings {
        social: SocialSettings {
            requests_per_second: Some(2),
        },
        ..Settings::default()
    };
    let simulator = Simulator::start(settings).await.unwrap();
    let mut asking = JoinSet::new();
    for _ in 0..40 {
        let simulator = simulator.clone();
        asking.spawn(async move { get(&simulator, &format!("{XIGUA}?user_id=1")).await });
    }
    let (mut good, mut refused) = (0, 0);
    for got in asking.join_all().await {
        if got.status == 200 {
            good += 1;
            continue;
        }
        refused += 1;
        assert_eq!((got.status, got.header("retry-after")), (429, Some("1")));
        let reset: u64 = got.header("x-ratelimit-reset").unwrap().parse().unwrap();
        assert!(reset > 1_700_000_000);
        assert_eq!(got.json()["detail"]["code"], 429);
    }
    assert!(good >= 2 && refused > 0, "{good} {refused}");
    let calls = simulator.social_calls();
    assert_eq!(calls.iter().filter(|call| call.is_billed).count(), good);
}

#[tokio::test]
async fn prices_and_the_account_are_told_and_cost_nothing() {
    let simulator = started().await;
    let info = "/api/v1/tikhub/user/get_endpoint_info";
    let reported = get(
        &simulator,
        &format!("{info}?endpoint=%2Fapi%2Fv1%2Fweibo%2Fapp%2Ffetch_user_info"),
    )
    .await;
    assert_eq!(reported.json()["data"]["endpoint_cost"], json!(0.001));
    assert_eq!(
        get(&simulator, &format!("{info}?endpoint=/none"))
            .await
            .status,
        404
    );
    assert_eq!(get(&simulator, info).await.status, 422);
    assert_eq!(ask(&simulator, "GET", info, "", b"").await.status, 401);
    assert_eq!(post(&simulator, info, &json!({})).await.status, 405);
    let all = get(&simulator, "/api/v1/tikhub/user/get_all_endpoints_info")
        .await
        .json();
    assert_eq!(all["data"].as_array().unwrap().len(), 100);
    let user = "/api/v1/tikhub/user/get_user_info";
    assert_eq!(
        get(&simulator, user).await.json()["user_data"]["balance"],
        json!(100.0)
    );
    get(&simulator, &format!("{XIGUA}?user_id=1")).await;
    assert_eq!(
        get(&simulator, user).await.json()["user_data"]["balance"],
        json!(99.999)
    );
    let health = ask(&simulator, "GET", "/api/v1/health/check", "", b"").await;
    assert_eq!(
        (health.status, &health.json()["status"]),
        (200, &json!("ok"))
    );
    assert_eq!(simulator.social_calls().len(), 1);
}
