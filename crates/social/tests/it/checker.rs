//! The one checker, on cells of the built-in files.

use std::sync::Arc;

use trunkline_catalog::FieldNote;
use trunkline_social::{
    Cell, Cells, CheckedQuery, MAX_VALUE_CHARACTERS, Method, RequestError, check,
};

fn cell(platform: &str, capability: &str) -> Arc<Cell> {
    let cells = Cells::builtin().unwrap();
    Arc::clone(cells.get(platform, capability).unwrap())
}

fn ask(pair: (&str, &str), query: &str) -> Result<CheckedQuery, RequestError> {
    check(&cell(pair.0, pair.1), query)
}

fn code(pair: (&str, &str), query: &str) -> &'static str {
    match ask(pair, query) {
        Ok(_) => "fine",
        Err(refusal) => refusal.code,
    }
}

const SEARCH: (&str, &str) = ("douyin", "search");
const CHANNELS: (&str, &str) = ("wechat_channels", "search");

// covers: D-7-SOC-50, D-7-SOC-51, D-7-SOC-20, D-7-SOC-21, D-7-SOC-22, D-7-SOC-24, D-7-SOC-25
#[test]
fn each_kind_of_mistake_has_its_code() {
    for (pair, query, expected) in [
        (SEARCH, "keyword=a", "fine"),
        (SEARCH, "", "missing_parameter"),
        (SEARCH, "keyword=", "missing_parameter"),
        (SEARCH, "keyword", "missing_parameter"),
        (SEARCH, "keyword=a&colour=red", "unknown_parameter"),
        (SEARCH, "keyword=a&keyword=b", "repeated_parameter"),
        (SEARCH, "keyword[]=a", "unknown_parameter"),
        (SEARCH, "keyword=a&Cursor=1", "unknown_parameter"),
        (SEARCH, "keyword=a&cursor=abc", "invalid_parameter_type"),
        (SEARCH, "keyword=a&cursor=", "invalid_parameter_type"),
        (SEARCH, "keyword=a&cursor=1.0", "invalid_parameter_type"),
        (SEARCH, "keyword=a&cursor=0x10", "invalid_parameter_type"),
        (SEARCH, "keyword=a&cursor=%2B1", "invalid_parameter_type"),
        (SEARCH, "keyword=a&cursor=-1", "fine"),
        (SEARCH, "keyword=a&cursor=9223372036854775807", "fine"),
        (
            SEARCH,
            "keyword=a&cursor=9223372036854775808",
            "invalid_parameter_type",
        ),
        (
            SEARCH,
            "keyword=a&cursor=18446744073709551616",
            "invalid_parameter_type",
        ),
        (SEARCH, "keyword=%ff", "invalid_parameter_type"),
        (SEARCH, "keyword=a&sort_type=", "fine"),
        (SEARCH, "keyword=a&sort_type=9", "fine"),
        (CHANNELS, "keyword=a&sort=newest", "invalid_parameter_type"),
        (CHANNELS, "keyword=a&sort=latest", "fine"),
        (CHANNELS, "keyword=a&sort=1", "fine"),
        (CHANNELS, "keyword=a&offset=first", "invalid_parameter_type"),
        (
            ("wechat_channels", "user"),
            "username=a&raw=1",
            "invalid_parameter_type",
        ),
        (
            ("wechat_channels", "user"),
            "username=a&raw=yes",
            "invalid_parameter_type",
        ),
        (
            ("wechat_channels", "user"),
            "username=a&raw=",
            "invalid_parameter_type",
        ),
        (("wechat_channels", "user"), "username=a&raw=true", "fine"),
        (("wechat_channels", "user"), "username=a&raw=false", "fine"),
        (
            ("wechat_mp", "user-posts"),
            "username=a&item_show_type=",
            "fine",
        ),
        (
            ("douyin", "comments"),
            "aweme_id=1&count=",
            "invalid_parameter_type",
        ),
        (("douyin", "trending"), "a=1", "unknown_parameter"),
        (("xiaohongshu", "post"), "", "missing_parameter"),
        (
            ("xiaohongshu", "post"),
            "note_id=&share_text=",
            "missing_parameter",
        ),
        (("xiaohongshu", "post"), "share_text=x", "fine"),
        (("xiaohongshu", "post"), "note_id=1&share_text=x", "fine"),
    ] {
        assert_eq!(code(pair, query), expected, "{pair:?} {query}");
    }
}

// covers: S-8-04, S-8-05, S-8-06, S-8-07, D-7-SOC-09, D-7-SOC-49
#[test]
fn stated_maxima_and_lengths_are_enforced_and_2048_is_the_longest() {
    let long = |count: usize| "字".repeat(count);
    for (pair, query, expected) in [
        (
            ("bilibili", "user-posts"),
            "uid=1&pn=100&ps=50".to_owned(),
            "fine",
        ),
        (
            ("bilibili", "user-posts"),
            "uid=1&pn=101".to_owned(),
            "invalid_parameter_value",
        ),
        (
            ("bilibili", "user-posts"),
            "uid=1&ps=51".to_owned(),
            "invalid_parameter_value",
        ),
        (
            ("tiktok", "user-posts"),
            "secUid=a&count=15".to_owned(),
            "fine",
        ),
        (
            ("tiktok", "user-posts"),
            "secUid=a&count=16".to_owned(),
            "invalid_parameter_value",
        ),
        (CHANNELS, format!("keyword={}", long(100)), "fine"),
        (
            CHANNELS,
            format!("keyword={}", long(101)),
            "invalid_parameter_value",
        ),
        (
            CHANNELS,
            format!("keyword={}", long(MAX_VALUE_CHARACTERS + 1)),
            "parameter_too_long",
        ),
        (
            ("wechat_mp", "search"),
            format!("keyword={}", long(101)),
            "invalid_parameter_value",
        ),
        (
            ("wechat_search", "search"),
            format!("keyword={}", long(101)),
            "invalid_parameter_value",
        ),
        (
            ("wechat_search", "search"),
            format!("keyword=a&business_type={}", "x".repeat(33)),
            "invalid_parameter_value",
        ),
        (
            SEARCH,
            format!("keyword={}", long(MAX_VALUE_CHARACTERS)),
            "fine",
        ),
        (
            SEARCH,
            format!("keyword={}", long(MAX_VALUE_CHARACTERS + 1)),
            "parameter_too_long",
        ),
        // Too long is told before the type, and before what else is wrong.
        (
            SEARCH,
            format!("x=1&keyword=a&cursor={}", "1".repeat(3_000)),
            "parameter_too_long",
        ),
    ] {
        assert_eq!(code(pair, &query), expected, "{pair:?} {:.60}", query);
    }
}

// covers: D-4-71, D-4-72
#[test]
fn a_default_makes_no_required_parameter_optional_and_is_named() {
    let whole = ["keyword=a", "order=totalrank", "page=1", "page_size=20"];
    let pair = ("bilibili", "search");
    assert_eq!(code(pair, &whole.join("&")), "fine");
    for (left_out, default) in [(1, "totalrank"), (2, "1"), (3, "20")] {
        let mut rest = whole.to_vec();
        rest.remove(left_out);
        let refusal = ask(pair, &rest.join("&")).unwrap_err();
        assert_eq!(refusal.code, "missing_parameter");
        assert!(refusal.message.ends_with(default), "{}", refusal.message);
    }
}

#[test]
fn a_refusal_says_what_would_be_right() {
    let reply = |pair, query| ask(pair, query).unwrap_err();
    assert!(
        reply(SEARCH, "keyword=a&cursr=1")
            .message
            .contains("did you mean `cursor`?")
    );
    assert!(
        reply(("douyin", "trending"), "zzzz=1")
            .message
            .contains("it takes none")
    );
    let refusal = reply(CHANNELS, "keyword=a&sort=newest");
    assert_eq!(refusal.param.as_deref(), Some("sort"));
    assert!(
        refusal.message.contains("latest (1)"),
        "{}",
        refusal.message
    );
    let response = reply(SEARCH, &format!("{}=1", "x".repeat(5_000)));
    assert!(response.message.len() < 400);
}

fn codes(pair: (&str, &str), query: &str) -> Vec<(String, String, bool)> {
    let notes = ask(pair, query).unwrap().notes();
    let reported = notes.into_iter().filter(|note| note.code.is_some());
    reported
        .map(|note: FieldNote| {
            let code = note.code.clone().unwrap().into_owned();
            let trap = note.is_pitfall();
            (note.field, code, trap)
        })
        .collect()
}

// covers: D-7-SOC-45, D-7-SOC-53
#[test]
fn traps_are_told() {
    let none: [(String, String, bool); 0] = [];
    let reported = |field: &str, code: &str, trap| [(field.to_owned(), code.to_owned(), trap)];
    for (pair, query, expected) in [
        (
            ("wechat_mp", "user-posts"),
            "username=a&page_size=5",
            reported("page_size", "no_effect", true),
        ),
        (
            ("tiktok", "user-posts"),
            "secUid=a&post_item_list_request_type=0",
            reported("post_item_list_request_type", "no_effect", true),
        ),
        (
            ("youtube", "post"),
            "video_id=a&video_url=b",
            reported("video_url", "no_effect", true),
        ),
        (
            ("wechat_channels", "post"),
            "object_id=1&share_url=b",
            reported("share_url", "no_effect", true),
        ),
        (
            ("wechat_channels", "post"),
            "export_id=export/1",
            reported("export_id", "short_lived_id", false),
        ),
        (
            CHANNELS,
            "keyword=a&offset=20",
            reported("offset", "cursor_not_offset", true),
        ),
        (
            ("wechat_mp", "search"),
            "keyword=a&offset=20",
            reported("offset", "cursor_not_offset", true),
        ),
        (
            ("wechat_search", "search"),
            "keyword=a&offset=20",
            reported("offset", "cursor_not_offset", true),
        ),
        (
            SEARCH,
            "keyword=a&cursor=10",
            reported("cursor", "page_token_incomplete", false),
        ),
        (
            ("xiaohongshu", "search"),
            "keyword=a&page=2",
            reported("page", "page_token_incomplete", false),
        ),
        (
            ("tiktok", "search"),
            "keyword=a&offset=20",
            reported("offset", "page_token_incomplete", false),
        ),
    ] {
        assert_eq!(codes(pair, query), expected, "{query}");
    }
    for (pair, query) in [
        (CHANNELS, "keyword=a&offset=0"),
        (CHANNELS, "keyword=a&offset=20&cursor=abc"),
        (SEARCH, "keyword=a&cursor=0"),
        (SEARCH, "keyword=a&cursor=10&search_id=x&backtrace=y"),
        (("xiaohongshu", "search"), "keyword=a&page=1"),
        (
            ("xiaohongshu", "search"),
            "keyword=a&page=2&search_id=x&search_session_id=y",
        ),
        (("youtube", "post"), "video_url=b"),
    ] {
        assert_eq!(codes(pair, query), none, "{query}");
    }
}

#[test]
fn a_question_is_put_as_the_source_wants_it() {
    let request = ask(
        ("kuaishou", "search"),
        "keyword=caf%C3%A9+noir&pcursor=a%2Bb%2F%3D%3D",
    )
    .unwrap();
    let request = request.vendor_request();
    assert_eq!(request.method, Method::Get);
    assert!(
        request
            .target
            .ends_with("?keyword=caf%C3%A9%20noir&pcursor=a%2Bb%2F%3D%3D"),
        "{}",
        request.target
    );
    assert_eq!(request.body, None);
    let request = ask(SEARCH, "keyword=a&cursor=9223372036854775807&sort_type=1")
        .unwrap()
        .vendor_request();
    assert_eq!(request.method, Method::Post);
    let expected = r#"{"cursor":9223372036854775807,"keyword":"a","sort_type":"1"}"#;
    assert_eq!(request.body.as_deref(), Some(expected));
    // Digits of an integer-or-word go as a number, a word as a text, an empty one not at all.
    let request = ask(CHANNELS, "keyword=a&sort=1&publish_time=week&duration=")
        .unwrap()
        .vendor_request();
    assert_eq!(
        request.body.as_deref(),
        Some(r#"{"keyword":"a","publish_time":"week","sort":1}"#)
    );
    // What is fixed goes along; what was left out does not.
    let request = ask(("wechat_mp", "search"), "keyword=a")
        .unwrap()
        .vendor_request();
    assert_eq!(
        request.body.as_deref(),
        Some(r#"{"business_type":"article","keyword":"a"}"#)
    );
    let request = ask(("wechat_channels", "user"), "username=a&raw=false")
        .unwrap()
        .vendor_request();
    assert_eq!(
        request.body.as_deref(),
        Some(r#"{"raw":false,"username":"a"}"#)
    );
    let request = ask(("douyin", "trending"), "").unwrap().vendor_request();
    assert!(!request.target.contains('?'));
}
