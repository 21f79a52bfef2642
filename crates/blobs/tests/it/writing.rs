//! What is put is there whole, or not at all.

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use sha2::{Digest as _, Sha256};
use trunkline_blobs::{ContentType, MediaError, PART_BYTES, PutError};

use crate::harness::{DAY_SECONDS, Harness, NOON, all_of, broken, chunks, content, mp4, path};

#[tokio::test]
async fn what_is_put_comes_back_with_its_hash_and_content_type() {
    for harness in Harness::both().await {
        let kind = harness.kind;
        let odd = 2 * PART_BYTES + 12_345;
        let lengths = [0, 1, 1_000, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, odd];
        for (number, length) in (0_u8..).zip(lengths) {
            let bytes = content(length);
            let metadata = harness.put(&path(number), &bytes).await.unwrap();
            let expected: [u8; 32] = Sha256::digest(&bytes).into();
            assert_eq!(metadata.sha256, expected, "{kind} {length}");
            assert_eq!(metadata.bytes, u64::try_from(length).unwrap());
            assert_eq!(metadata.content_type, mp4());

            // Nothing of it lives in the handle alone.
            let media = harness.reopened().await;
            assert_eq!(
                media.head(&path(number)).await.unwrap(),
                metadata,
                "{kind} {length}"
            );
            let fetched = media.get(&path(number), None).await.unwrap();
            assert_eq!(fetched.metadata, metadata);
            assert_eq!(fetched.range, 0..metadata.bytes);
            assert_eq!(
                fetched.metadata.etag(),
                format!("\"{}\"", metadata.sha256_hex())
            );
            assert!(all_of(fetched).await.unwrap() == bytes, "{kind} {length}");
        }
    }
}

#[tokio::test]
async fn small_bytes_are_put_in_one_go_with_any_content_type() {
    for harness in Harness::both().await {
        let odd = ContentType::parse("audio/ogg; codecs=\"opus\"").unwrap();
        let bytes = Bytes::from_static(b"a note");
        let put = harness
            .media
            .put_bytes(&path(1), bytes, &odd)
            .await
            .unwrap();
        let head = harness.media.head(&path(1)).await.unwrap();
        assert_eq!(head, put, "{}", harness.kind);
        assert_eq!(head.content_type, odd);
    }
}

#[tokio::test]
async fn one_huge_piece_and_many_tiny_ones_are_the_same_bytes() {
    for harness in Harness::both().await {
        let bytes = content(PART_BYTES + 777);
        let huge = Bytes::from(bytes.clone());
        let huge = harness
            .media
            .put_bytes(&path(1), huge, &mp4())
            .await
            .unwrap();
        let tiny: Vec<_> = bytes
            .chunks(7)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect();
        let tiny = stream::iter(tiny).boxed();
        let tiny = harness.media.put(&path(2), tiny, &mp4(), huge.bytes).await;
        assert_eq!(tiny.unwrap(), huge, "{}", harness.kind);
    }
}

#[tokio::test]
async fn more_than_the_limit_is_refused_and_leaves_nothing() {
    for harness in Harness::both().await {
        for length in [11, PART_BYTES + 6, 2 * PART_BYTES + 1] {
            let bytes = content(length);
            let limit = u64::try_from(length - 1).unwrap();
            let refused = harness
                .media
                .put(&path(1), chunks(&bytes), &mp4(), limit)
                .await;
            let is_told =
                matches!(refused, Err(PutError::TooLarge { limit_bytes }) if limit_bytes == limit);
            assert!(is_told, "{} {length}: {refused:?}", harness.kind);
            assert_eq!(harness.files(), Vec::<String>::new(), "{}", harness.kind);
            let missing = harness.media.head(&path(1)).await;
            assert!(matches!(missing, Err(MediaError::NotFound)), "{missing:?}");

            let fits = harness
                .media
                .put(&path(2), chunks(&bytes), &mp4(), limit + 1)
                .await;
            assert!(fits.is_ok(), "{} {length}: {fits:?}", harness.kind);
            assert!(harness.media.delete(&path(2)).await.unwrap());
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_leaves_nothing() {
    for harness in Harness::both().await {
        for length in [0, 10, PART_BYTES, 2 * PART_BYTES + 5] {
            let source = broken(&content(length));
            let result = harness.media.put(&path(1), source, &mp4(), u64::MAX).await;
            let Err(PutError::SourceBroke(error)) = result else {
                panic!("{} {length}: {result:?}", harness.kind);
            };
            assert_eq!(error.to_string(), "the upstream hung up");
            assert_eq!(harness.files(), Vec::<String>::new(), "{}", harness.kind);
        }
    }
}

#[tokio::test]
async fn a_finished_put_leaves_the_object_and_its_facts_alone() {
    for harness in Harness::both().await {
        let name = path(1).to_string();
        let folder = if harness.kind == "s3" {
            "videos"
        } else {
            "media"
        };
        harness
            .put(&path(1), &content(PART_BYTES + 1))
            .await
            .unwrap();
        let expected = [
            format!("{folder}/{name}"),
            format!("{folder}/{name}.metadata"),
        ];
        assert_eq!(harness.files(), expected, "{}", harness.kind);
        assert!(harness.media.delete(&path(1)).await.unwrap());
        assert_eq!(harness.files(), Vec::<String>::new(), "{}", harness.kind);
        assert!(!harness.media.delete(&path(1)).await.unwrap());
    }
}

#[tokio::test]
async fn an_upload_that_was_dropped_is_swept_when_its_day_is_long_over() {
    let harness = Harness::s3(None).await;
    let begun = chunks(&content(PART_BYTES + 1))
        .chain(stream::pending())
        .boxed();
    let (path, kind) = (path(1), mp4());
    let put = harness.media.put(&path, begun, &kind, u64::MAX);
    // Its first part has arrived when the server has written it.
    let arrived = async {
        while !harness.files().iter().any(|file| file.ends_with(".part-1")) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        ended = put => panic!("{ended:?}"),
        () = arrived => {}
    }
    let note = format!("videos/unfinished/{path}");
    assert!(harness.files().contains(&note), "{:?}", harness.files());

    let keep = std::time::Duration::from_secs(7 * 86_400);
    let next_noon = NOON.plus_seconds(DAY_SECONDS);
    let early = harness.media.sweep(next_noon, keep).await.unwrap();
    assert_eq!(early.unfinished, 0);
    assert!(harness.files().contains(&note));
    let late = harness
        .media
        .sweep(next_noon.plus_seconds(DAY_SECONDS), keep)
        .await;
    assert_eq!(late.unwrap().unfinished, 1);
    assert_eq!(harness.files(), Vec::<String>::new());
}

#[tokio::test]
async fn a_note_on_an_upload_that_was_finished_goes_and_the_object_stays() {
    let harness = Harness::s3(None).await;
    let metadata = harness
        .put(&path(1), &content(PART_BYTES + 1))
        .await
        .unwrap();
    let note = harness
        .root
        .path()
        .join(format!("videos/unfinished/{}", path(1)));
    std::fs::create_dir_all(note.parent().unwrap()).unwrap();
    std::fs::write(&note, "an-upload-of-old").unwrap();
    let keep = std::time::Duration::from_secs(7 * 86_400);
    let later = NOON.plus_seconds(2 * DAY_SECONDS);
    assert_eq!(
        harness.media.sweep(later, keep).await.unwrap().unfinished,
        1
    );
    assert!(!note.exists());
    assert_eq!(harness.media.head(&path(1)).await.unwrap(), metadata);
}

#[tokio::test]
async fn what_a_crash_left_in_a_directory_is_swept_when_its_day_is_long_over() {
    let harness = Harness::directory(Some(1_000_000)).await;
    harness.put(&path(2), b"kept").await.unwrap();
    let folder = harness.root.path().join("media");
    let crashed = format!("{}#1", path(1));
    std::fs::write(folder.join(&crashed), "half a video").unwrap();
    std::fs::write(folder.join(format!("{}.metadata", path(1))), "{}").unwrap();
    std::fs::write(folder.join(format!("{}.metadata#2", path(3))), "{").unwrap();
    let media = harness.reopened().await;
    let used = media.used_bytes().unwrap();

    let keep = std::time::Duration::from_secs(7 * 86_400);
    let next_noon = NOON.plus_seconds(DAY_SECONDS);
    assert_eq!(media.sweep(next_noon, keep).await.unwrap().unfinished, 0);
    assert!(folder.join(&crashed).exists());
    let late = media.sweep(next_noon.plus_seconds(DAY_SECONDS), keep).await;
    assert_eq!(late.unwrap().unfinished, 2);
    let kept = format!("media/{}", path(2));
    assert_eq!(harness.files(), [kept.clone(), format!("{kept}.metadata")]);
    assert_eq!(
        media.used_bytes(),
        Some(used - 2),
        "the lone metadata are not counted any more"
    );
}
