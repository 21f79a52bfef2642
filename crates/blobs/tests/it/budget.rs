//! The budget: no byte beyond it, and none forgotten.

use std::time::Duration;

use futures_util::future::join_all;
use trunkline_blobs::{PART_BYTES, PutError};

use crate::harness::{Harness, NOON, broken, content, mp4, path};

fn is_over_budget<T>(result: &Result<T, PutError>, budget: u64) -> bool {
    matches!(result, Err(PutError::OverBudget { budget_bytes }) if *budget_bytes == budget)
}

#[tokio::test]
async fn a_put_beyond_the_budget_is_refused_and_nothing_is_lost() {
    let part = u64::try_from(PART_BYTES).unwrap();
    for harness in Harness::both_with_budget(part * 2).await {
        let kind = harness.kind;
        let metadata = harness.put(&path(1), &content(PART_BYTES)).await.unwrap();
        let (files, used) = (harness.files(), harness.media.used_bytes());
        // Beyond it after the first part, and in the one request that would be the whole.
        for length in [2 * PART_BYTES, PART_BYTES - 1] {
            let refused = harness.put(&path(2), &content(length)).await;
            assert!(
                is_over_budget(&refused, part * 2),
                "{kind} {length}: {refused:?}"
            );
            assert_eq!(harness.files(), files, "{kind}");
            assert_eq!(harness.media.used_bytes(), used, "{kind}");
        }
        assert_eq!(harness.media.head(&path(1)).await.unwrap(), metadata);
        let fits = harness.put(&path(2), &content(1_000)).await;
        assert!(fits.is_ok(), "{kind}: {fits:?}");
    }
}

#[tokio::test]
async fn the_budget_is_exact_to_the_byte() {
    let trial = Harness::both_with_budget(1_000_000).await;
    for trial in trial {
        trial.put(&path(1), &content(1_000)).await.unwrap();
        let exact = trial.media.used_bytes().unwrap();
        for (budget, fits) in [(exact, true), (exact - 1, false)] {
            let harness = if trial.kind == "s3" {
                Harness::s3(Some(budget)).await
            } else {
                Harness::directory(Some(budget)).await
            };
            let put = harness.put(&path(1), &content(1_000)).await;
            assert_eq!(put.is_ok(), fits, "{} {put:?}", harness.kind);
            assert_eq!(is_over_budget(&put, budget), !fits);
        }
    }
}

#[tokio::test]
async fn what_is_used_is_the_same_when_the_store_is_opened_again() {
    for harness in Harness::both_with_budget(100_000_000).await {
        assert_eq!(harness.media.used_bytes(), Some(0));
        for (number, length) in [(1, 0), (2, 1_000), (3, PART_BYTES + 1)] {
            harness.put(&path(number), &content(length)).await.unwrap();
        }
        let failed = broken(&content(PART_BYTES + 1));
        let failed = harness.media.put(&path(4), failed, &mp4(), u64::MAX).await;
        assert!(failed.is_err());
        let used = harness.media.used_bytes();
        assert_eq!(
            harness.reopened().await.used_bytes(),
            used,
            "{}",
            harness.kind
        );
        harness.media.delete(&path(3)).await.unwrap();
        let used = harness.media.used_bytes();
        assert_eq!(
            harness.reopened().await.used_bytes(),
            used,
            "{}",
            harness.kind
        );
    }
}

#[tokio::test]
async fn deleted_and_swept_bytes_come_back_once() {
    for harness in Harness::both_with_budget(1_000_000).await {
        for number in 1..=3 {
            harness.put(&path(number), &content(1_000)).await.unwrap();
        }
        let used = harness.media.used_bytes().unwrap();
        let (gone, also_gone) = (path(1), path(1));
        let deletes = [
            harness.media.delete(&gone),
            harness.media.delete(&also_gone),
        ];
        let deleted: Vec<_> = join_all(deletes).await;
        let deleted: Vec<_> = deleted.into_iter().map(Result::unwrap).collect();
        assert_eq!(deleted, [true, false], "{}", harness.kind);
        assert_eq!(
            harness.media.used_bytes(),
            Some(used / 3 * 2),
            "{}",
            harness.kind
        );
        let later = NOON.plus_seconds(8 * 86_400);
        let swept = harness
            .media
            .sweep(later, Duration::from_secs(86_400))
            .await;
        assert_eq!(swept.unwrap().objects, 2);
        assert_eq!(harness.media.used_bytes(), Some(0), "{}", harness.kind);
    }
}

#[tokio::test]
async fn puts_at_once_do_not_pass_the_budget_together() {
    for harness in Harness::both_with_budget(10_000).await {
        let bytes = content(3_000);
        let paths: Vec<_> = (0..8).map(path).collect();
        let puts = join_all(paths.iter().map(|path| harness.put(path, &bytes))).await;
        let stored = puts.iter().filter(|put| put.is_ok()).count();
        assert!((1..=3).contains(&stored), "{} {stored}", harness.kind);
        assert!(
            puts.iter()
                .all(|put| put.is_ok() || is_over_budget(put, 10_000))
        );
        let used = harness.media.used_bytes().unwrap();
        assert!(used <= 10_000);
        assert_eq!(
            harness.reopened().await.used_bytes(),
            Some(used),
            "{}",
            harness.kind
        );
    }
}
