//! Usage: every way of telling it, and the buckets it is charged by.

use super::*;

const BUCKETS: [Bucket; 5] = [
    Bucket::PlainInput,
    Bucket::CacheRead,
    Bucket::CacheWrite5m,
    Bucket::CacheWrite1h,
    Bucket::PlainOutput,
];

fn raw(text: &str) -> RawUsage {
    serde_json::from_str(text).unwrap()
}

fn bucket_counts(usage: &RawUsage) -> [u64; 5] {
    let reported = usage.whole().unwrap();
    BUCKETS.map(|bucket| reported.of(bucket))
}

#[test]
fn input_and_caches_stand_beside_each_other() {
    for (usage, buckets) in [
        (r#"{"input_tokens":10,"output_tokens":5}"#, [10, 0, 0, 0, 5]),
        (
            r#"{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":70,"cache_creation_input_tokens":100}"#,
            [10, 70, 100, 0, 5],
        ),
        (
            r#"{"input_tokens":10,"output_tokens":5,"cache_creation_input_tokens":100,
                "cache_creation":{"ephemeral_5m_input_tokens":60,"ephemeral_1h_input_tokens":40}}"#,
            [10, 0, 60, 40, 5],
        ),
        (
            r#"{"input_tokens":1,"output_tokens":1,
                "cache_creation":{"ephemeral_5m_input_tokens":6,"ephemeral_1h_input_tokens":4}}"#,
            [1, 0, 6, 4, 1],
        ),
        (
            r#"{"input_tokens":1,"output_tokens":1,"cache_creation_input_tokens":3,
                "cache_creation":{"ephemeral_5m_input_tokens":6,"ephemeral_1h_input_tokens":4}}"#,
            [1, 0, 0, 3, 1],
        ),
        (
            r#"{"input_tokens":0,"output_tokens":0,"cache_creation":null,"server_tool_use":{"web_search_requests":0}}"#,
            [0, 0, 0, 0, 0],
        ),
        (
            r#"{"input_tokens":20,"output_tokens":9,"iterations":[
                {"type":"compaction","input_tokens":180,"output_tokens":35},
                {"type":"message","input_tokens":20,"output_tokens":9,"cache_read_input_tokens":4}]}"#,
            [200, 4, 0, 0, 44],
        ),
    ] {
        assert_eq!(bucket_counts(&raw(usage)), buckets, "{usage}");
    }
}

#[test]
fn a_later_count_is_the_whole_and_a_zero_is_no_news() {
    let mut usage = raw(
        r#"{"input_tokens":25,"output_tokens":1,"cache_creation_input_tokens":100,"cache_read_input_tokens":7,
            "cache_creation":{"ephemeral_5m_input_tokens":60,"ephemeral_1h_input_tokens":40}}"#,
    );
    assert_eq!(usage.reported(Side::Input).of(Bucket::PlainOutput), 0);
    assert_eq!(
        usage
            .reported(Side::Input)
            .usage
            .reported(Bucket::PlainOutput),
        None,
        "the first word about output is none"
    );
    usage.merge(raw(
        r#"{"input_tokens":0,"cache_creation_input_tokens":100,"output_tokens":15}"#,
    ));
    assert_eq!(bucket_counts(&usage), [25, 7, 60, 40, 15], "not twice");
    usage.merge(raw(
        r#"{"input_tokens":30,"output_tokens":18,"output_tokens_details":{"thinking_tokens":4}}"#,
    ));
    assert_eq!(bucket_counts(&usage), [30, 7, 60, 40, 18]);
    assert_eq!(usage.whole().unwrap().reasoning, Some(4));
}

#[test]
fn what_is_no_count_was_not_told() {
    for odd in [
        r#"{"input_tokens":-1,"output_tokens":5}"#,
        r#"{"input_tokens":1.5,"output_tokens":5}"#,
        r#"{"input_tokens":"9","output_tokens":5}"#,
        r#"{"input_tokens":9}"#,
        "{}",
    ] {
        assert_eq!(raw(odd).whole(), None, "{odd}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let text = r#"{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":70,"cache_creation_input_tokens":100,
        "cache_creation":{"ephemeral_5m_input_tokens":60,"ephemeral_1h_input_tokens":40},
        "output_tokens_details":{"thinking_tokens":2}}"#;
    let reported = raw(text).whole().unwrap();
    let rewritten = Value::Object(written(&reported)).to_string();
    assert_eq!(raw(&rewritten).whole().unwrap(), reported);
    let parsed = ReportedUsage {
        usage: Usage::unknown()
            .with(Bucket::PlainInput, 3)
            .with(Bucket::AudioInput, 4)
            .with(Bucket::PlainOutput, 1),
        reasoning: None,
    };
    assert_eq!(
        written(&parsed)["input_tokens"],
        7,
        "it has one word for input"
    );
}
