//! Reading: ranges, and what is not there.

use trunkline_blobs::{MediaError, PART_BYTES, RangeAnswer, read_range};

use crate::harness::{Harness, all_of, content, path};

#[tokio::test]
async fn a_range_gives_its_bytes_and_the_facts_of_the_whole() {
    for harness in Harness::both().await {
        for length in [1_000, PART_BYTES + 1_000] {
            let bytes = content(length);
            let number = u8::from(length > PART_BYTES);
            let metadata = harness.put(&path(number), &bytes).await.unwrap();
            let middle = length - 900;
            for (start, end) in [
                (0, 1),
                (0, length),
                (1, 2),
                (10, 500),
                (middle - 50, middle + 50),
                (length - 1, length),
            ] {
                let range = u64::try_from(start).unwrap()..u64::try_from(end).unwrap();
                let part = harness
                    .media
                    .get(&path(number), Some(range.clone()))
                    .await
                    .unwrap();
                assert_eq!(part.metadata, metadata, "{} {range:?}", harness.kind);
                assert_eq!(part.range, range);
                let read = all_of(part).await.unwrap();
                assert!(read == bytes[start..end], "{} {range:?}", harness.kind);
            }
        }
    }
}

#[tokio::test]
async fn a_range_header_leads_to_the_bytes_it_names() {
    for harness in Harness::both().await {
        let bytes = content(100);
        let metadata = harness.put(&path(1), &bytes).await.unwrap();
        for (header, expected) in [
            ("bytes=0-0", &bytes[..1]),
            ("bytes=10-19", &bytes[10..20]),
            ("bytes=90-", &bytes[90..]),
            ("bytes=-5", &bytes[95..]),
            ("bytes=0-1000", &bytes[..]),
        ] {
            let RangeAnswer::Part(range) = read_range(Some(header), metadata.bytes) else {
                panic!("{header}");
            };
            let part = harness.media.get(&path(1), Some(range)).await.unwrap();
            assert_eq!(
                all_of(part).await.unwrap(),
                expected,
                "{} {header}",
                harness.kind
            );
        }
    }
}

#[tokio::test]
async fn a_range_outside_the_object_is_told_as_such() {
    for harness in Harness::both().await {
        harness.put(&path(1), &content(100)).await.unwrap();
        for range in [0..101, 99..101, 100..101, 500..600, 5..5] {
            let error = harness.media.get(&path(1), Some(range.clone())).await.err();
            assert!(
                matches!(error, Some(MediaError::RangeOutside)),
                "{} {range:?}: {error:?}",
                harness.kind
            );
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    for harness in Harness::both().await {
        harness.put(&path(1), b"another").await.unwrap();
        let head = harness.media.head(&path(2)).await.err();
        let get = harness.media.get(&path(2), None).await.err();
        let part = harness.media.get(&path(2), Some(0..1)).await.err();
        for error in [head, get, part] {
            assert!(
                matches!(error, Some(MediaError::NotFound)),
                "{}: {error:?}",
                harness.kind
            );
        }
    }
}

#[tokio::test]
async fn an_object_without_its_facts_is_damage_and_no_guess() {
    for harness in Harness::both().await {
        harness
            .put(&path(1), &content(PART_BYTES + 1))
            .await
            .unwrap();
        let sidecar = harness.files().pop().unwrap();
        assert!(sidecar.ends_with(".metadata"), "{sidecar}");
        let sidecar = harness.root.path().join(sidecar);
        for damage in ["{}", "", &"x".repeat(5_000)] {
            std::fs::write(&sidecar, damage).unwrap();
            let error = harness.media.head(&path(1)).await.err();
            assert!(
                matches!(error, Some(MediaError::Damaged)),
                "{}: {error:?}",
                harness.kind
            );
        }
        std::fs::remove_file(&sidecar).unwrap();
        let error = harness.media.get(&path(1), None).await.err();
        assert!(
            matches!(error, Some(MediaError::Damaged)),
            "{}: {error:?}",
            harness.kind
        );
        assert!(
            harness.media.delete(&path(1)).await.unwrap(),
            "it can still be deleted"
        );
    }
}
