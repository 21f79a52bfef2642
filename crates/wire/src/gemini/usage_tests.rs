//! Usage: which tokens are in which bucket.

use super::*;

/// Plain, cached, heard and seen input; plain, spoken and drawn output.
fn buckets(usage: &Value) -> Option<[u64; 7]> {
    let raw: RawUsage = serde_json::from_value(usage.clone()).unwrap();
    let reported = raw.reported(true)?;
    Some(crate::gemini::response_scan::BUCKETS.map(|bucket| reported.of(bucket)))
}

#[test]
fn every_token_is_in_one_bucket_and_all_are_the_total() {
    let table = [
        (
            json!({ "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 }),
            [10, 0, 0, 0, 5, 0, 0],
        ),
        (
            json!({ "promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 7, "totalTokenCount": 22 }),
            [10, 0, 0, 0, 12, 0, 0],
        ),
        (
            json!({ "promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 5, "totalTokenCount": 15 }),
            [6, 4, 0, 0, 5, 0, 0],
        ),
        (
            json!({ "promptTokenCount": 10, "toolUsePromptTokenCount": 3, "candidatesTokenCount": 5, "totalTokenCount": 18 }),
            [13, 0, 0, 0, 5, 0, 0],
        ),
        (
            json!({ "promptTokenCount": 10, "totalTokenCount": 10 }),
            [10, 0, 0, 0, 0, 0, 0],
        ),
        (json!({ "promptTokenCount": 10 }), [10, 0, 0, 0, 0, 0, 0]),
        // Sound that was cached is a read of the cache.
        (
            json!({ "promptTokenCount": 100, "cachedContentTokenCount": 40, "candidatesTokenCount": 5, "totalTokenCount": 105,
                "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": 20 }, { "modality": "AUDIO", "tokenCount": 50 }, { "modality": "IMAGE", "tokenCount": 30 }],
                "cacheTokensDetails": [{ "modality": "AUDIO", "tokenCount": 35 }, { "modality": "IMAGE", "tokenCount": 5 }] }),
            [20, 40, 15, 25, 5, 0, 0],
        ),
        (
            json!({ "promptTokenCount": 4, "candidatesTokenCount": 1300, "totalTokenCount": 1304,
                "candidatesTokensDetails": [{ "modality": "IMAGE", "tokenCount": 1290 }, { "modality": "AUDIO", "tokenCount": 6 }] }),
            [4, 0, 0, 0, 4, 6, 1290],
        ),
        // Thoughts among the candidates, tools in the prompt, a rest without explanation.
        (
            json!({ "promptTokenCount": 10, "candidatesTokenCount": 12, "thoughtsTokenCount": 7, "totalTokenCount": 22 }),
            [10, 0, 0, 0, 12, 0, 0],
        ),
        (
            json!({ "promptTokenCount": 13, "toolUsePromptTokenCount": 3, "candidatesTokenCount": 5, "totalTokenCount": 18 }),
            [13, 0, 0, 0, 5, 0, 0],
        ),
        (
            json!({ "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 30 }),
            [10, 0, 0, 0, 20, 0, 0],
        ),
        // Absurd details are cut to what there is.
        (
            json!({ "promptTokenCount": 10, "cachedContentTokenCount": 99, "candidatesTokenCount": 5, "totalTokenCount": 15,
                "promptTokensDetails": [{ "modality": "AUDIO", "tokenCount": 50 }], "candidatesTokensDetails": [{ "modality": "AUDIO", "tokenCount": 50 }] }),
            [0, 10, 0, 0, 0, 5, 0],
        ),
        (
            json!({ "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 3 }),
            [10, 0, 0, 0, 5, 0, 0],
        ),
    ];
    for (usage, expected) in table {
        let found = buckets(&usage).unwrap();
        assert_eq!(found, expected, "{usage}");
        let total = usage.get("totalTokenCount").and_then(Value::as_u64);
        if let Some(total) = total.filter(|total| *total > 3) {
            assert_eq!(found.iter().sum::<u64>(), total, "{usage}");
        }
    }
    assert_eq!(
        buckets(&json!({ "candidatesTokenCount": 5 })),
        None,
        "no input told"
    );
    assert_eq!(
        buckets(&json!({ "promptTokenCount": -1, "candidatesTokenCount": 1.5 })),
        None
    );
}

#[test]
fn output_is_not_told_before_the_end_unless_it_is_told() {
    let early: RawUsage =
        serde_json::from_value(json!({ "promptTokenCount": 10, "totalTokenCount": 10 })).unwrap();
    let reported = |usage: &RawUsage, ended| {
        usage
            .reported(ended)
            .unwrap()
            .usage
            .reported(Bucket::PlainOutput)
    };
    assert_eq!(reported(&early, false), None);
    assert_eq!(reported(&early, true), Some(0));
    let thinking: RawUsage =
        serde_json::from_value(json!({ "promptTokenCount": 10, "thoughtsTokenCount": 3 })).unwrap();
    assert_eq!(reported(&thinking, false), Some(3));
}

#[test]
fn usage_that_is_written_is_read_the_same() {
    let usage = json!({ "promptTokenCount": 100, "cachedContentTokenCount": 40, "candidatesTokenCount": 9, "thoughtsTokenCount": 5, "totalTokenCount": 114,
        "promptTokensDetails": [{ "modality": "AUDIO", "tokenCount": 15 }, { "modality": "IMAGE", "tokenCount": 25 }] });
    let raw: RawUsage = serde_json::from_value(usage).unwrap();
    let reported = raw.reported(true).unwrap();
    let reread: RawUsage = serde_json::from_value(usage_json(&reported)).unwrap();
    assert_eq!(reread.reported(true).unwrap(), reported);
}
