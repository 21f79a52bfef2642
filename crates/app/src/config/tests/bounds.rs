//! How large and how long calls may be, and how long what they leave is kept.

use super::*;

// covers: D-5-04
#[test]
fn an_upload_may_have_two_gigabytes_and_its_folder_must_be_there() {
    let studio = from_text("", &[]).unwrap().studio;
    assert_eq!(studio.max_upload_bytes, 2_000_000_000);
    assert!(studio.upload_folder.is_dir());
    let message = problem(
        from_text("[uploads]\nfolder = \"/nowhere/at/all\"", &[]),
        "uploads.folder",
    );
    assert!(message.contains("no folder"), "{message}");
    for key in ["max_bytes", "max_on_disk_bytes"] {
        let message = problem(
            from_text(&format!("[uploads]\n{key} = 0"), &[]),
            &format!("uploads.{key}"),
        );
        assert!(message.contains("must be from"), "{message}");
    }
}

// covers: D-5-19
#[test]
fn an_operator_overrides_each_default_of_the_specification() {
    let config = from_text("", &[]).unwrap();
    let (limits, calls, video) = (&config.limits, &config.edge.calls, &config.video);
    assert_eq!(
        (limits.requests_per_minute, limits.concurrent_calls),
        (600, 64)
    );
    assert_eq!(
        (calls.max_body_bytes, config.studio.max_upload_bytes),
        (32_000_000, 2_000_000_000)
    );
    assert_eq!(
        (config.edge.half_memory, calls.account_share),
        (1_000_000_000, 5)
    );
    assert_eq!(
        (calls.stream_idle.as_secs(), calls.whole_wait.as_secs()),
        (300, 600)
    );
    assert_eq!(
        (video.poll_first.as_secs(), video.poll_most.as_secs()),
        (2, 15)
    );
    assert_eq!(
        (video.deadline.as_secs(), video.queue.as_secs()),
        (86_400, 7_200)
    );
    let kept = &config.retention;
    assert_eq!(
        (kept.media.as_secs(), kept.prompts.as_secs()),
        (7 * 86_400, 7 * 86_400)
    );
    assert_eq!(kept.usage_days, 400);

    let text = "[limits]\nrequests_per_minute = 41\nconcurrent_calls = 42\n\
        [edge]\nmax_body_bytes = 43000\nmemory_mb = 144\naccount_share = 45\n\
        [uploads]\nmax_bytes = 46\n\
        [upstream]\nstream_idle_seconds = 47\nwhole_call_seconds = 48\n\
        [video]\npoll_first_ms = 49\npoll_most_ms = 50\ndeadline_seconds = 51\nqueue_seconds = 52\n\
        [media]\nkeep_days = 53\n[retention]\nusage_days = 54\nprompt_days = 55\n";
    let config = from_text(text, &[]).unwrap();
    let (limits, calls, video) = (&config.limits, &config.edge.calls, &config.video);
    assert_eq!(
        (limits.requests_per_minute, limits.concurrent_calls),
        (41, 42)
    );
    assert_eq!(
        (calls.max_body_bytes, config.studio.max_upload_bytes),
        (43_000, 46)
    );
    assert_eq!(
        (config.edge.half_memory, calls.account_share),
        (72_000_000, 45)
    );
    assert_eq!(
        (calls.stream_idle.as_secs(), calls.whole_wait.as_secs()),
        (47, 48)
    );
    assert_eq!(
        (video.poll_first.as_millis(), video.poll_most.as_millis()),
        (49, 50)
    );
    assert_eq!((video.deadline.as_secs(), video.queue.as_secs()), (51, 52));
    let kept = &config.retention;
    assert_eq!(
        (kept.media.as_secs(), kept.prompts.as_secs()),
        (53 * 86_400, 55 * 86_400)
    );
    assert_eq!(kept.usage_days, 54);
}

#[test]
fn bounds_that_cannot_work_are_said() {
    for (text, key, word) in [
        (
            "[retention]\nusage_days = 29",
            "retention.usage_days",
            "from 30",
        ),
        (
            "[retention]\nprompt_days = 0",
            "retention.prompt_days",
            "from 1",
        ),
        ("[media]\nkeep_days = 0", "media.keep_days", "from 1"),
        ("[edge]\naccount_share = 0", "edge.account_share", "from 1"),
        (
            "[edge]\nmax_body_bytes = 999",
            "edge.max_body_bytes",
            "from 1000",
        ),
        (
            "[edge]\nmemory_mb = 100\nmax_body_bytes = 50000001",
            "edge.max_body_bytes",
            "half of edge.memory_mb",
        ),
        (
            "[upstream]\nstream_idle_seconds = 3001",
            "upstream.stream_idle_seconds",
            "to 3000",
        ),
        (
            "[upstream]\nwhole_call_seconds = 0",
            "upstream.whole_call_seconds",
            "from 1",
        ),
    ] {
        let message = problem(from_text(text, &[]), key);
        assert!(message.contains(word), "{text}: {message}");
    }
}
