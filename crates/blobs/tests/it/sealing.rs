//! Sealed objects are read whole and by ranges, whatever their length; what was changed or cut does not open.

use std::sync::Arc;

use trunkline_blobs::{MediaError, ObjectSeal, PART_BYTES, SALT_BYTES, SealedPiece};

use crate::harness::{Harness, all_of, chunks, content, mp4, path};

/// Shifts every byte, and writes down the place.
#[derive(Debug)]
struct Shifted;

impl Shifted {
    fn tag(piece: &SealedPiece<'_>) -> Vec<u8> {
        let mut tag = piece.index.to_be_bytes().to_vec();
        tag.push(u8::from(piece.is_last));
        tag.extend_from_slice(&piece.salt[..3]);
        tag.extend_from_slice(&piece.object.as_bytes()[piece.object.len() - 4..]);
        tag
    }
}

impl ObjectSeal for Shifted {
    fn salt(&self) -> Option<[u8; SALT_BYTES]> {
        Some([5; SALT_BYTES])
    }

    fn seal(&self, piece: &SealedPiece<'_>, plain: &[u8]) -> Option<Vec<u8>> {
        let mut sealed: Vec<u8> = plain.iter().map(|byte| byte.wrapping_add(1)).collect();
        sealed.extend(Self::tag(piece));
        Some(sealed)
    }

    fn open(&self, piece: &SealedPiece<'_>, sealed: &[u8]) -> Option<Vec<u8>> {
        let (body, tag) = sealed.split_at_checked(sealed.len().checked_sub(16)?)?;
        let plain = body.iter().map(|byte| byte.wrapping_sub(1)).collect();
        (tag == Self::tag(piece)).then_some(plain)
    }
}

const PIECE: usize = 65_536;

// covers: D-5-16
#[tokio::test]
async fn a_sealed_object_gives_every_range_of_its_content_and_shows_none_of_it_on_the_disk() {
    for harness in Harness::both().await {
        let media = harness.media.clone().sealed(Arc::new(Shifted));
        let lengths = [
            0,
            1,
            PIECE - 1,
            PIECE,
            PIECE + 1,
            2 * PIECE,
            PART_BYTES + 1_000,
        ];
        for (number, length) in lengths.into_iter().enumerate() {
            let (bytes, kind) = (content(length), harness.kind);
            let at = path(u8::try_from(number).unwrap());
            let limit = u64::try_from(length).unwrap();
            let put = media.put(&at, chunks(&bytes), &mp4(), limit).await.unwrap();
            assert_eq!(media.head(&at).await.unwrap(), put, "{kind} {length}");
            assert_eq!(put.bytes, limit);
            let whole = all_of(media.get(&at, None).await.unwrap()).await.unwrap();
            assert!(whole == bytes, "{kind} {length}");
            let cuts = [0, 1, 99, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE - 1, length];
            for start in cuts {
                for end in cuts {
                    if start >= end || end > length {
                        continue;
                    }
                    let range = u64::try_from(start).unwrap()..u64::try_from(end).unwrap();
                    let part = media.get(&at, Some(range.clone())).await.unwrap();
                    assert_eq!((&part.metadata, &part.range), (&put, &range));
                    let part = all_of(part).await.unwrap();
                    assert!(part == bytes[start..end], "{kind} {length} {range:?}");
                }
            }
            let beyond = media.get(&at, Some(0..limit + 1)).await;
            assert!(
                matches!(beyond, Err(MediaError::RangeOutside)),
                "{kind} {length}"
            );
            // A store without the keys does not serve what is sealed.
            let without = harness.media.get(&at, None).await;
            assert!(
                matches!(without, Err(MediaError::Unsealable)),
                "{kind} {length}"
            );
        }
        let bytes = content(PART_BYTES + 1_000);
        for file in harness.files() {
            let stored = std::fs::read(harness.root.path().join(file)).unwrap();
            assert!(!stored.windows(32).any(|part| part == &bytes[..32]));
        }
    }
}

#[tokio::test]
async fn an_object_of_before_is_read_by_a_store_that_seals() {
    for harness in Harness::both().await {
        let bytes = content(1_000);
        harness.put(&path(1), &bytes).await.unwrap();
        let media = harness.media.clone().sealed(Arc::new(Shifted));
        let part = media.get(&path(1), Some(10..20)).await.unwrap();
        assert_eq!(all_of(part).await.unwrap(), bytes[10..20]);
    }
}

#[tokio::test]
async fn an_object_that_was_cut_or_changed_on_the_disk_does_not_open() {
    let harness = Harness::directory(None).await;
    let media = harness.media.clone().sealed(Arc::new(Shifted));
    let bytes = content(3 * PIECE);
    for (number, cut) in [(1, true), (2, false)] {
        let at = path(number);
        let put = media.put(&at, chunks(&bytes), &mp4(), 1_000_000).await;
        put.unwrap();
        let file = harness.root.path().join("media").join(at.to_string());
        let mut stored = std::fs::read(&file).unwrap();
        if cut {
            // By a whole piece: what is left has whole pieces, and no last one.
            stored.truncate(2 * (PIECE + 16));
        } else {
            // The first two pieces change places.
            stored[..2 * (PIECE + 16)].rotate_left(PIECE + 16);
        }
        std::fs::write(&file, stored).unwrap();
        let read = match media.get(&at, None).await {
            Ok(fetched) => all_of(fetched).await.map(drop),
            Err(error) => Err(error),
        };
        assert!(matches!(read, Err(MediaError::Damaged)), "{cut}: {read:?}");
    }
}

#[tokio::test]
async fn the_budget_counts_what_is_stored_of_a_sealed_object() {
    for harness in Harness::both_with_budget(1_000_000).await {
        let media = harness.media.clone().sealed(Arc::new(Shifted));
        let bytes = content(3 * PIECE);
        let put = media.put(&path(1), chunks(&bytes), &mp4(), 1_000_000).await;
        put.unwrap();
        let used = media.used_bytes().unwrap();
        assert!(used >= 3 * 65_536 + 3 * 16, "{used}");
        assert_eq!(harness.reopened().await.used_bytes(), Some(used));
        assert!(media.delete(&path(1)).await.unwrap());
        assert_eq!(media.used_bytes(), Some(0));
    }
}
