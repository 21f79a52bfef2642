//! Pieces of files.

use trunkline_types::SecretBytes;

use crate::{FileKey, FilePiece, SystemRandom};

const SALT: [u8; 16] = [9; 16];

fn piece(name: &str, index: u64, is_last: bool) -> FilePiece<'_> {
    FilePiece {
        name,
        salt: &SALT,
        index,
        is_last,
    }
}

#[test]
fn a_piece_opens_in_its_own_place_and_nowhere_else() {
    let key = FileKey::generate(&SystemRandom).unwrap();
    let sealed = key.seal(&piece("a", 3, false), b"marker text").unwrap();
    assert_eq!(sealed.len(), 11 + 16);
    assert!(!sealed.windows(6).any(|part| part == b"marker"));
    let opened = key.open(&piece("a", 3, false), &sealed).unwrap();
    assert_eq!(opened, b"marker text");
    for other in [
        piece("b", 3, false),
        piece("a", 4, false),
        piece("a", 3, true),
    ] {
        assert!(key.open(&other, &sealed).is_err(), "{other:?}");
    }
    let salted = FilePiece {
        salt: &[8; 16],
        ..piece("a", 3, false)
    };
    assert!(key.open(&salted, &sealed).is_err());
    let mut flipped = sealed.clone();
    flipped[0] ^= 1;
    assert!(key.open(&piece("a", 3, false), &flipped).is_err());
    assert!(key.open(&piece("a", 3, false), &sealed[..20]).is_err());
    let another = FileKey::generate(&SystemRandom).unwrap();
    assert!(another.open(&piece("a", 3, false), &sealed).is_err());
    let kept = FileKey::from_bytes(SecretBytes::new(key.reveal().to_vec())).unwrap();
    assert!(kept.open(&piece("a", 3, false), &sealed).is_ok());
    assert!(FileKey::from_bytes(SecretBytes::new(vec![0; 31])).is_none());
    assert!(!format!("{kept:?}").contains('['), "a key is not shown");
}
