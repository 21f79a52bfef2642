//! Values that the specification names: they reach the source as they are.

use serde_json::json;

use crate::social::harness::{cell, escaped, example, needed};
use crate::test_gateway::TestGateway;

/// What the source was given for a parameter in the last question.
pub(crate) fn received(harness: &TestGateway, name: &str) -> Option<String> {
    let call = harness.vendor_calls().pop().unwrap();
    let found = call.params.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.clone())
}

pub(crate) async fn sends(harness: &TestGateway, pair: &str, param: &str, value: &str) {
    let (platform, capability) = pair.split_once('/').unwrap();
    let cell = cell(platform, capability);
    let others = needed(&cell).into_iter().filter(|name| name != param);
    let mut pairs: Vec<String> = others.map(|name| example(&cell, &name)).collect();
    pairs.push(format!("{param}={}", escaped(value)));
    let got = harness.look(pair, &pairs.join("&")).await;
    assert_eq!(got.status, 200, "{pair} {param}={value}: {}", got.text());
    assert_eq!(
        received(harness, param).as_deref(),
        Some(value),
        "{pair} {param}"
    );
}

/// The pair, the parameter, its values, and texts that its description contains.
type Listed = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const LISTED: [Listed; 23] = [
    (
        "douyin/search",
        "sort_type",
        &["0", "1", "2"],
        &["0", "1", "2"],
    ),
    (
        "douyin/search",
        "publish_time",
        &["0", "1", "7", "180"],
        &["180"],
    ),
    (
        "douyin/search",
        "filter_duration",
        &["0", "0-1", "1-5", "5-10000"],
        &["5-10000"],
    ),
    (
        "douyin/search",
        "content_type",
        &["0", "1", "2", "3"],
        &["3"],
    ),
    ("xiaohongshu/search", "page", &["1"], &["1"]),
    (
        "xiaohongshu/search",
        "note_type",
        &["不限", "视频笔记", "普通笔记", "直播笔记"],
        &["直播笔记"],
    ),
    (
        "xiaohongshu/search",
        "time_filter",
        &["不限", "一天内", "一周内", "半年内"],
        &["半年内"],
    ),
    ("xiaohongshu/search", "ai_mode", &["0", "1"], &[]),
    ("xiaohongshu/comments", "index", &["0"], &["0"]),
    (
        "xiaohongshu/comments",
        "pageArea",
        &["UNFOLDED", "FOLDED"],
        &["FOLDED"],
    ),
    (
        "xiaohongshu/comments",
        "sort_strategy",
        &["default", "latest_v2", "like_count"],
        &["like_count"],
    ),
    ("kuaishou/user-posts", "sort", &["latest", "hot"], &["hot"]),
    (
        "bilibili/search",
        "pubtime_begin_s",
        &["1767225600"],
        &["10"],
    ),
    ("bilibili/search", "pubtime_end_s", &["1767225600"], &["10"]),
    (
        "weibo/search",
        "search_type",
        &[
            "1", "61", "3", "64", "63", "62", "60", "21", "38", "98", "92", "97",
        ],
        &["61", "64", "63", "62", "60", "21", "38", "98", "92", "97"],
    ),
    ("weibo/comments", "sort_type", &["0", "1"], &["0", "1"]),
    ("weibo/user-posts", "month", &["20260101"], &["YYYYMMDD"]),
    (
        "wechat_search/search",
        "business_type",
        &["all", "account", "article", "video", "sticker", "news"],
        &["sticker"],
    ),
    (
        "wechat_mp/user-posts",
        "item_show_type",
        &["0", "5", "7", "8"],
        &["5", "7", "8"],
    ),
    (
        "instagram/comments",
        "sort_by",
        &["recent", "popular", "other"],
        &["popular"],
    ),
    (
        "youtube/search",
        "duration",
        &["short", "medium", "long"],
        &["short"],
    ),
    (
        "youtube/search",
        "features",
        &[
            "live",
            "4k",
            "hd",
            "subtitles",
            "creative_commons",
            "360",
            "vr180",
            "3d",
            "hdr",
            "live,hd",
        ],
        &["vr180"],
    ),
    ("douyin/comments", "count", &["9223372036854775807"], &[]),
];

// covers: S-4.2-P01-02, S-4.2-P01-03, S-4.2-P01-04, S-4.2-P01-05, S-4.2-P02-02, S-4.2-P02-03, S-4.2-P02-04
// covers: S-4.2-P02-06, S-4.2-P02-12, S-4.2-P02-14, S-4.2-P04-03, S-4.2-P05-02, S-4.2-P05-06, S-4.2-P05-08
// covers: S-4.2-P08-16, S-4.2-P09-03, S-4.2-P14-05, S-4.2-P15-03, S-4.2-P15-04, D-7-SOC-19, D-7-SOC-22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_listed_value_reaches_the_source_and_stands_in_its_description() {
    let harness = TestGateway::of_social().await;
    let mut count = 0;
    for (pair, param, values, words) in LISTED {
        let (platform, capability) = pair.split_once('/').unwrap();
        let cell = cell(platform, capability);
        let described = &cell.param(param).unwrap().description;
        for word in words {
            assert!(
                described.contains(word),
                "{pair} {param}: {word} in {described}"
            );
        }
        for value in values {
            sends(&harness, pair, param, value).await;
            count += 1;
        }
    }
    println!("{count} values");
    sends(&harness, "douyin/search", "sort_type", "9").await;
    harness.audit().await;
}

// covers: S-4.2-P02-13, S-4.2-P03-08, S-4.2-P04-02, S-4.2-P08-14, S-4.2-P13-04, S-4.2-P13-11
#[tokio::test]
async fn stated_defaults_are_shown_and_the_source_applies_them() {
    let harness = TestGateway::of_social().await;
    for (pair, param, default) in [
        ("xiaohongshu/comments", "pageArea", json!("UNFOLDED")),
        ("kuaishou/user-posts", "sort", json!("latest")),
        ("wechat_mp/user-posts", "page_size", json!(20)),
        ("tiktok/post", "region", json!("US")),
        ("tiktok/trending", "region", json!("US")),
    ] {
        let (platform, capability) = pair.split_once('/').unwrap();
        let cell = cell(platform, capability);
        assert_eq!(
            cell.param(param).unwrap().default.as_ref(),
            Some(&default),
            "{pair}"
        );
        let pairs: Vec<String> = needed(&cell)
            .iter()
            .map(|name| example(&cell, name))
            .collect();
        let bare = harness.look(pair, &pairs.join("&")).await;
        assert_eq!(received(&harness, param), None, "{pair}");
        let text = default
            .as_str()
            .map_or_else(|| default.to_string(), str::to_owned);
        let with = format!("{}&{param}={text}", pairs.join("&"));
        let same = harness.look(pair, &with).await;
        assert_eq!(bare.json()["data"], same.json()["data"], "{pair}");
    }
    for (name, default) in [
        ("order", json!("totalrank")),
        ("page", json!(1)),
        ("page_size", json!(20)),
    ] {
        let cell = cell("bilibili", "search");
        let param = cell.param(name).unwrap();
        assert!(
            param.required && param.default.as_ref() == Some(&default),
            "{name}"
        );
    }
}

// covers: S-4.2-P07-03, S-4.2-P07-04, S-4.2-P07-05, S-4.2-P07-20, S-4.2-P08-03, S-4.2-P08-04, D-7-SOC-26, D-7-SOC-27
#[tokio::test]
async fn a_word_and_its_integer_mean_the_same() {
    let harness = TestGateway::of_social().await;
    let durations: &[(&str, &str)] =
        &[("all", "0"), ("short", "1"), ("medium", "2"), ("long", "3")];
    let sorts: &[(&str, &str)] = &[("default", "0"), ("latest", "1"), ("hot", "2")];
    let times: &[(&str, &str)] = &[
        ("all", "0"),
        ("day", "1"),
        ("week", "2"),
        ("half_year", "3"),
    ];
    for (pair, param, words) in [
        ("wechat_channels/search", "duration", durations),
        ("wechat_channels/search", "sort", sorts),
        ("wechat_channels/search", "publish_time", times),
        ("wechat_mp/search", "sort", sorts),
        ("wechat_mp/search", "publish_time", times),
        ("wechat_search/search", "sort", sorts),
        ("wechat_search/search", "publish_time", times),
    ] {
        for (word, number) in words {
            let by_word = harness
                .look(pair, &format!("keyword=a&{param}={word}"))
                .await;
            assert_eq!(by_word.status, 200, "{}", by_word.text());
            assert!(
                harness
                    .vendor_calls()
                    .pop()
                    .unwrap()
                    .body
                    .contains(&format!("\"{param}\":\"{word}\""))
            );
            let by_number = harness
                .look(pair, &format!("keyword=a&{param}={number}"))
                .await;
            // As a number, not as a text.
            assert!(
                harness
                    .vendor_calls()
                    .pop()
                    .unwrap()
                    .body
                    .contains(&format!("\"{param}\":{number}"))
            );
            assert_eq!(
                by_word.json()["data"],
                by_number.json()["data"],
                "{pair} {param} {word}"
            );
        }
    }
}

// covers: S-4.2-P07-02, S-4.2-P08-02, S-4.2-P09-02, S-4.2-P04-08, S-4.2-P04-09, S-4.2-P13-08, D-3-63
#[tokio::test]
async fn stated_lengths_and_maxima_hold_at_their_edge() {
    let harness = TestGateway::of_social().await;
    for pair in [
        "wechat_channels/search",
        "wechat_mp/search",
        "wechat_search/search",
    ] {
        for (keyword, status) in [
            ("a".to_owned(), 200),
            ("😀".repeat(100), 200),
            ("a".repeat(101), 400),
            (String::new(), 400),
        ] {
            let got = harness
                .look(pair, &format!("keyword={}", escaped(&keyword)))
                .await;
            assert_eq!(got.status, status, "{pair} {}", got.text());
            if status == 400 {
                let code = if keyword.is_empty() {
                    "missing_parameter"
                } else {
                    "invalid_parameter_value"
                };
                assert_eq!(got.code(), code);
            }
        }
    }
    for (pair, query, status) in [
        ("bilibili/user-posts", "uid=1&pn=100", 200),
        ("bilibili/user-posts", "uid=1&pn=101", 400),
        ("bilibili/user-posts", "uid=1&ps=50", 200),
        ("bilibili/user-posts", "uid=1&ps=51", 400),
        ("tiktok/user-posts", "secUid=a&count=15", 200),
        ("tiktok/user-posts", "secUid=a&count=16", 400),
    ] {
        let got = harness.look(pair, query).await;
        if status == 400 {
            assert_eq!(
                (got.status.as_u16(), got.code().as_str()),
                (400, "invalid_parameter_value")
            );
        } else {
            // The platform has no hundredth page here; the call was made.
            assert_eq!(
                got.status,
                if query.contains("pn=") { 404 } else { 200 },
                "{pair}?{query}"
            );
        }
    }
}
