//! Retention: whole days, bounded, ours alone.

use std::time::Duration;

use trunkline_blobs::{DEFAULT_KEPT, MediaError, PART_BYTES, Swept};
use trunkline_types::Timestamp;

use crate::harness::{DAY_SECONDS, Harness, NOON, content, path, path_at};

const WEEK: Duration = DEFAULT_KEPT;

/// The end of the day of [`NOON`], and a week.
const OVER: Timestamp = Timestamp::from_micros(1_700_006_400_000_000 + 7 * 86_400_000_000);

// covers: D-5-13
#[tokio::test]
async fn media_are_gone_a_week_after_the_end_of_their_day_and_not_before() {
    for harness in Harness::both().await {
        let next_day = path_at(NOON.plus_seconds(DAY_SECONDS), 9);
        harness.put(&path(1), b"small").await.unwrap();
        harness
            .put(&path(2), &content(PART_BYTES + 1))
            .await
            .unwrap();
        harness.put(&next_day, b"younger").await.unwrap();

        let just_before = Timestamp::from_micros(OVER.micros() - 1);
        let nothing = harness.media.sweep(just_before, WEEK).await.unwrap();
        assert_eq!(nothing, Swept::default(), "{}", harness.kind);
        assert!(harness.media.head(&path(1)).await.is_ok());

        let swept = harness.media.sweep(OVER, WEEK).await.unwrap();
        assert_eq!(
            (swept.objects, swept.unfinished, swept.more),
            (2, 0, false),
            "{}",
            harness.kind
        );
        let bytes = u64::try_from(PART_BYTES + 6).unwrap();
        assert!((bytes..bytes + 1_000).contains(&swept.bytes), "{swept:?}");
        for gone in [path(1), path(2)] {
            let error = harness.media.get(&gone, None).await.err();
            assert!(matches!(error, Some(MediaError::NotFound)), "{error:?}");
        }
        assert!(
            harness.media.head(&next_day).await.is_ok(),
            "{}",
            harness.kind
        );
        let later = harness
            .media
            .sweep(OVER.plus_seconds(DAY_SECONDS), WEEK)
            .await;
        assert_eq!(later.unwrap().objects, 1, "{}", harness.kind);
        assert_eq!(harness.files(), Vec::<String>::new(), "{}", harness.kind);
    }
}

#[tokio::test]
async fn a_sweep_deletes_no_more_than_its_bound_and_says_that_there_is_more() {
    for harness in Harness::both().await {
        for number in 0..5 {
            harness.put(&path(number), b"x").await.unwrap();
        }
        let names = harness.files().len();
        let mut calls = 0;
        let mut objects = 0;
        loop {
            let before = harness.files().len();
            let swept = harness.media.sweep_at_most(OVER, WEEK, 2).await.unwrap();
            assert!(before - harness.files().len() <= 2, "{}", harness.kind);
            objects += swept.objects;
            calls += 1;
            if !swept.more {
                break;
            }
        }
        assert_eq!(objects, 5, "{}", harness.kind);
        assert_eq!(calls, names / 2 + 1, "{}", harness.kind);
        assert_eq!(harness.files(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn names_that_are_not_ours_are_left_alone() {
    for harness in Harness::both().await {
        harness.put(&path(1), b"ours").await.unwrap();
        let folder = if harness.kind == "s3" {
            "videos"
        } else {
            "media"
        };
        let strangers = [
            "readme.txt",
            "2023-11-14/readme.txt",
            "2023-11-14/77/1000/holiday.mp4",
            "2023-1-1/77/1000/x.mp4",
            "unfinished/readme.txt",
        ];
        for stranger in strangers {
            let at = harness.root.path().join(folder).join(stranger);
            std::fs::create_dir_all(at.parent().unwrap()).unwrap();
            std::fs::write(at, "theirs").unwrap();
        }
        let swept = harness.media.sweep(OVER, WEEK).await.unwrap();
        assert_eq!(swept.objects, 1, "{}", harness.kind);
        let mut expected = strangers.map(|stranger| format!("{folder}/{stranger}"));
        expected.sort();
        assert_eq!(harness.files(), expected, "{}", harness.kind);
    }
}

#[tokio::test]
async fn a_day_that_is_over_leaves_no_empty_folders() {
    let harness = Harness::directory(None).await;
    harness.put(&path(1), b"x").await.unwrap();
    harness.put(&path_at(OVER, 1), b"x").await.unwrap();
    harness.media.sweep(OVER, WEEK).await.unwrap();
    let folders: Vec<_> = std::fs::read_dir(harness.root.path().join("media"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(folders, ["2023-11-22"]);
}
