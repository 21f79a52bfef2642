//! How pages begin, what is sent only if given, what does nothing, and ids in all their forms.

use serde_json::Value;

use crate::social::harness::cell;
use crate::social::values::{received, sends};
use crate::test_gateway::TestGateway;

// covers: S-4.2-P02-11, S-4.2-P02-16, S-4.2-P07-06, S-4.2-P07-07, S-4.2-P08-05, S-4.2-P07-15, D-7-SOC-23
#[tokio::test]
async fn an_empty_or_absent_cursor_means_the_first_page_and_offset_is_none() {
    let harness = TestGateway::of_social().await;
    let data = async |pair: &str, query: &str| -> Value {
        let got = harness.look(pair, query).await;
        assert_eq!(got.status, 200, "{pair}?{query}: {}", got.text());
        got.json()["data"].clone()
    };
    for (pair, bare, empty) in [
        (
            "xiaohongshu/comments",
            "note_id=1",
            "note_id=1&cursor=&index=0",
        ),
        ("xiaohongshu/user-posts", "user_id=1", "user_id=1&cursor="),
        ("kuaishou/search", "keyword=a", "keyword=a&pcursor="),
        ("wechat_channels/search", "keyword=a", "keyword=a&offset=0"),
        ("wechat_channels/search", "keyword=a", "keyword=a&offset=20"),
        ("wechat_mp/search", "keyword=a", "keyword=a&offset=20"),
        (
            "wechat_channels/comments",
            "object_id=1",
            "object_id=1&last_buffer=",
        ),
    ] {
        assert_eq!(
            data(pair, bare).await,
            data(pair, empty).await,
            "{pair}?{empty}"
        );
    }
    let text = &cell("wechat_channels", "search")
        .param("offset")
        .unwrap()
        .description
        .clone();
    assert!(text.contains("cursor"), "{text}");
}

// covers: D-7-SOC-43, D-7-SOC-44, S-4.2-P07-18, S-4.2-P07-19, S-4.2-P15-07
#[tokio::test]
async fn raw_and_need_format_are_sent_only_if_they_were_given() {
    let harness = TestGateway::of_social().await;
    for (pair, needs, param) in [
        ("wechat_channels/post", "object_id=1", "raw"),
        ("youtube/post", "video_id=a", "need_format"),
    ] {
        let got = harness.look(pair, needs).await;
        assert_eq!(got.status, 200);
        assert_eq!(received(&harness, param), None);
        let mut shapes = Vec::new();
        for value in ["true", "false"] {
            let got = harness
                .look(pair, &format!("{needs}&{param}={value}"))
                .await;
            assert_eq!(got.status, 200, "{}", got.text());
            assert_eq!(received(&harness, param).as_deref(), Some(value));
            shapes.push(got.json()["data"].clone());
        }
        assert_ne!(shapes[0], shapes[1], "{pair}");
    }
}

// covers: D-7-SOC-45, D-7-SOC-46, S-4.2-P13-09
#[tokio::test]
async fn what_has_no_effect_is_warned_of_and_refused_in_strict_mode() {
    let harness = TestGateway::of_social().await;
    let strict = [("trunkline-strict", "true")];
    for (pair, query, code) in [
        (
            "wechat_mp/user-posts",
            "username=gh_1&page_size=5",
            "no_effect",
        ),
        (
            "tiktok/user-posts",
            "secUid=a&post_item_list_request_type=0",
            "no_effect",
        ),
        ("youtube/post", "video_id=a&video_url=b", "no_effect"),
        (
            "wechat_channels/post",
            "object_id=1&export_id=export/2",
            "no_effect",
        ),
        (
            "wechat_channels/search",
            "keyword=a&offset=20",
            "cursor_not_offset",
        ),
    ] {
        let got = harness.look(pair, query).await;
        assert_eq!(got.status, 200, "{}", got.text());
        let warned = got.header("trunkline-warnings").unwrap();
        assert_eq!(warned, format!("1;codes={code}"), "{pair}");
        let calls = harness.vendor_calls().len();
        let got = harness.look_with(pair, query, &strict).await;
        assert_eq!(
            (got.status.as_u16(), got.code().as_str()),
            (400, code),
            "{pair}"
        );
        assert!(got.json()["error"]["param"].is_string());
        assert_eq!(harness.vendor_calls().len(), calls);
    }
    for (pair, query, code) in [
        (
            "tiktok/search",
            "keyword=a&offset=5",
            "page_token_incomplete",
        ),
        (
            "wechat_channels/post",
            "export_id=export/2",
            "short_lived_id",
        ),
    ] {
        let got = harness.look_with(pair, query, &strict).await;
        let warned = got.header("trunkline-warnings");
        assert_eq!(
            warned,
            Some(format!("1;codes={code}")),
            "{pair}: {}",
            got.text()
        );
    }
    let deprecated = cell("tiktok", "user-posts");
    let text = &deprecated
        .param("post_item_list_request_type")
        .unwrap()
        .description;
    assert!(text.to_lowercase().contains("deprecated"), "{text}");
}

// covers: S-4.2-P07-09, S-4.2-P07-11, S-4.2-P15-06, S-4.2-P02-08, S-4.2-P03-04, S-4.2-P08-07, S-4.2-P08-09
// covers: S-4.2-P07-13, S-4.2-P07-16, S-4.2-P08-12, S-4.2-P07-10
#[tokio::test]
async fn identifiers_in_all_their_forms_reach_the_source() {
    let harness = TestGateway::of_social().await;
    for (pair, param, value) in [
        (
            "xiaohongshu/post",
            "share_text",
            "https://www.xiaohongshu.com/explore/64a1",
        ),
        (
            "xiaohongshu/post",
            "share_text",
            "look: http://xhslink.com/a/Bc1 copy this",
        ),
        (
            "xiaohongshu/post",
            "share_text",
            "https://www.rednote.com/explore/64a1",
        ),
        ("kuaishou/post", "share_text", "https://v.kuaishou.com/abc1"),
        (
            "wechat_mp/post",
            "url",
            "https://mp.weixin.qq.com/s/AbC-1_2?x=1&y=2#rd",
        ),
        ("wechat_mp/user", "username", "gh_0123456789ab"),
        ("wechat_mp/user", "username", "gh_0123456789ab@app"),
        ("wechat_mp/user", "username", "some-custom-id"),
        (
            "wechat_channels/user",
            "username",
            "v2_060000231003b20faec8c@finder",
        ),
        (
            "wechat_channels/comments",
            "comment_id",
            "14600000000000000001",
        ),
        ("wechat_mp/comments", "comment_id", "3000000000000000001"),
        (
            "wechat_channels/post",
            "share_url",
            "https://weixin.qq.com/sph/AbCd1",
        ),
    ] {
        sends(&harness, pair, param, value).await;
    }
    // With several, the source looks at the first of its order.
    let one = harness
        .look("wechat_channels/post", "object_id=1")
        .await
        .json();
    let all = "object_id=1&export_id=export/2&share_url=https%3A%2F%2Fweixin.qq.com%2Fsph%2F3";
    let several = harness.look("wechat_channels/post", all).await.json();
    assert_eq!(one["data"], several["data"]);
    let one = harness.look("youtube/post", "video_id=a").await.json();
    let both = harness
        .look("youtube/post", "video_id=a&video_url=b")
        .await
        .json();
    assert_eq!(one["data"], both["data"]);
    let text = &cell("wechat_channels", "post")
        .param("export_id")
        .unwrap()
        .description
        .clone();
    assert!(
        text.to_lowercase().contains("expire") || text.contains("short"),
        "{text}"
    );
}
