//! Pages of social data: cursors that are opaque and known again, and the traps of the platforms.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use trunkline_simulator::Simulator;

use crate::client::{post, started};
use crate::social::{DOUYIN, get};

const XIAOHONGSHU: &str = "/api/v1/xiaohongshu/app_v2/search_notes?keyword=fox";
const TIKTOK: &str = "/api/v1/tiktok/web/fetch_general_search?keyword=fox";
const WEIBO: &str = "/api/v1/weibo/app/fetch_status_comments?status_id=1";
const WECHAT: &str = "/api/v1/wechat_search/v2/fetch_search";

fn encoded(value: &Value) -> String {
    let text = value.as_str().map_or(value.to_string(), str::to_owned);
    utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string()
}

async fn data(simulator: &Simulator, path: &str) -> Value {
    let got = get(simulator, path).await;
    assert_eq!(got.status, 200, "{path}: {}", got.text());
    got.json()["data"].clone()
}

async fn douyin(simulator: &Simulator, body: Value) -> Value {
    let got = post(simulator, DOUYIN, &body).await;
    assert_eq!(got.status, 200, "{body}");
    got.json()["data"].clone()
}

#[tokio::test]
async fn a_cursor_that_was_never_given_out_is_refused() {
    let simulator = started().await;
    let first = data(&simulator, WEIBO).await;
    let cursor = first["moreInfo"]["params"]["max_id"].clone();
    assert!(cursor.as_u64().unwrap() > 1 << 53);
    let second = data(&simulator, &format!("{WEIBO}&max_id={cursor}")).await;
    assert_ne!(first["items"], second["items"]);
    for wrong in ["1", "9223372036854775807", "-1", "nonsense"] {
        let got = get(&simulator, &format!("{WEIBO}&max_id={wrong}")).await;
        assert_eq!(
            (got.status, &got.json()["detail"]["code"]),
            (400, &json!(400)),
            "{wrong}"
        );
    }
    // One of another post is no better.
    let other = WEIBO.replace("status_id=1", "status_id=2");
    assert_eq!(
        get(&simulator, &format!("{other}&max_id={cursor}"))
            .await
            .status,
        400
    );
    // What stands for the end is the first page, as nothing is.
    assert_eq!(data(&simulator, &format!("{WEIBO}&max_id=0")).await, first);
}

#[tokio::test]
async fn the_platforms_own_words_tell_the_end() {
    let simulator = started().await;
    let pages = |path: &'static str, param: &'static str, pointer: &'static str| {
        let simulator = simulator.clone();
        async move {
            let first = data(&simulator, path).await;
            let second = encoded(first.pointer(pointer).unwrap());
            let second = data(&simulator, &format!("{path}&{param}={second}")).await;
            let third = encoded(second.pointer(pointer).unwrap());
            let third = data(&simulator, &format!("{path}&{param}={third}")).await;
            third.pointer(pointer).unwrap().clone()
        }
    };
    for (path, param, pointer, end) in [
        (WEIBO, "max_id", "/moreInfo/params/max_id", json!(0)),
        (
            "/api/v1/kuaishou/app/search_video_v2?keyword=fox",
            "pcursor",
            "/pcursor",
            json!("no_more"),
        ),
        (
            "/api/v1/instagram/v2/general_search?keyword=fox",
            "pagination_token",
            "/pagination_token",
            json!(null),
        ),
        (
            "/api/v1/lemon8/app/fetch_search?query=fox",
            "max_cursor",
            "/max_cursor",
            json!(""),
        ),
    ] {
        assert_eq!(pages(path, param, pointer).await, end, "{path}");
    }
}

#[tokio::test]
async fn a_search_without_its_search_id_begins_again() {
    let simulator = started().await;
    let first = douyin(&simulator, json!({"keyword": "fox"})).await;
    let search_id = &first["log_pb"]["impr_id"];
    assert_eq!(
        (&first["extra"]["logid"], &first["has_more"]),
        (search_id, &json!(1))
    );
    let cursor = &first["cursor"];
    let trapped = douyin(&simulator, json!({"keyword": "fox", "cursor": cursor})).await;
    assert_eq!(trapped, first);
    let whole = json!({"keyword": "fox", "cursor": cursor, "search_id": search_id, "backtrace": first["backtrace"]});
    let second = douyin(&simulator, whole.clone()).await;
    assert_ne!(second["data"], first["data"]);
    for (name, value) in [("search_id", "nonsense"), ("backtrace", "nonsense")] {
        let mut wrong = whole.clone();
        wrong[name] = json!(value);
        assert_eq!(post(&simulator, DOUYIN, &wrong).await.status, 400, "{name}");
    }

    let first = data(&simulator, XIAOHONGSHU).await;
    assert_eq!(
        (&first["page"], &first["next_page"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(
        data(&simulator, &format!("{XIAOHONGSHU}&page=2")).await,
        first
    );
    let session = encoded(&first["search_id"]);
    let second = data(
        &simulator,
        &format!("{XIAOHONGSHU}&page=2&search_id={session}"),
    )
    .await;
    assert_ne!(second["data"]["items"], first["data"]["items"]);
    let third = data(
        &simulator,
        &format!("{XIAOHONGSHU}&page=3&search_id={session}"),
    )
    .await;
    assert_eq!(third["next_page"], Value::Null);
    assert_eq!(
        get(&simulator, &format!("{XIAOHONGSHU}&page=0"))
            .await
            .status,
        400
    );

    let first = data(&simulator, TIKTOK).await;
    assert_eq!(data(&simulator, &format!("{TIKTOK}&offset=5")).await, first);
    let session = encoded(&first["log_pb"]["impr_id"]);
    let second = data(
        &simulator,
        &format!("{TIKTOK}&offset=5&search_id={session}"),
    )
    .await;
    assert_ne!(second["data"], first["data"]);
}

#[tokio::test]
async fn wechat_pages_by_cursor_and_a_cursor_belongs_to_its_filters() {
    let simulator = started().await;
    let ask = |extra: Value| {
        let mut body = json!({"keyword": "fox", "sort": "latest"});
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        let simulator = simulator.clone();
        async move { post(&simulator, WECHAT, &body).await }
    };
    let first = ask(json!({})).await.json()["data"].clone();
    assert_eq!(ask(json!({"offset": 20})).await.json()["data"], first);
    let cursor = first["cursor"].as_str().unwrap().to_owned();
    assert!(
        ['+', '/', '='].iter().all(|sign| cursor.contains(*sign)),
        "{cursor}"
    );
    let second = ask(json!({"cursor": cursor, "offset": 5})).await;
    assert_eq!(second.status, 200);
    assert_ne!(second.json()["data"]["results"], first["results"]);
    assert_eq!(
        ask(json!({"cursor": cursor, "sort": "hot"})).await.status,
        400
    );
    // A plus that was not encoded is a space, and no cursor any more.
    assert_eq!(
        ask(json!({"cursor": cursor.replace('+', " ")}))
            .await
            .status,
        400
    );
}

#[tokio::test]
async fn youtube_goes_on_with_its_token_alone() {
    let simulator = started().await;
    let path = "/api/v1/youtube/web_v2/get_general_search_v2";
    let first = data(&simulator, &format!("{path}?keyword=fox")).await;
    let token = encoded(&first["continuation_token"]);
    let alone = data(&simulator, &format!("{path}?continuation_token={token}")).await;
    let both = data(
        &simulator,
        &format!("{path}?keyword=fox&continuation_token={token}"),
    )
    .await;
    assert_eq!(alone, both);
    assert_ne!(alone["videos"], first["videos"]);
    assert_eq!(get(&simulator, path).await.status, 400);
}

#[tokio::test]
async fn a_page_beyond_the_last_is_empty_and_one_that_repeats_itself_never_ends() {
    let simulator = started().await;
    let path = "/api/v1/bilibili/web/fetch_video_comments?bv_id=BV1";
    let fourth = data(&simulator, &format!("{path}&pn=4")).await;
    assert_eq!(fourth["data"]["replies"], json!([]));
    let path = "/api/v1/kuaishou/app/search_video_v2?keyword=[[social:same_page]]";
    let first = data(&simulator, path).await;
    let cursor = encoded(&first["pcursor"]);
    for _ in 0..4 {
        assert_eq!(
            data(&simulator, &format!("{path}&pcursor={cursor}")).await,
            first
        );
    }
}
