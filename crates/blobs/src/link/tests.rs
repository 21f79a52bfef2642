//! Links: what is altered, forged, expired or of another key is refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use trunkline_types::Shard;

use super::*;
use crate::{ContentType, ObjectPath, PATH_RANDOM_BYTES, TaskName, TaskPath};

const EXPIRES: Timestamp = Timestamp::from_micros(1_700_000_600_000_000);
const BEFORE: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

/// Real HMAC-SHA256 with generations, the last being the current one.
struct Keys(Vec<(u8, [u8; 32])>);

impl Keys {
    fn one() -> Self {
        Self(vec![(1, [1; 32])])
    }

    fn code(key: &[u8; 32], account: AccountId, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        mac.update(&account.number().to_be_bytes());
        for part in parts {
            mac.update(&u64::try_from(part.len()).unwrap().to_be_bytes());
            mac.update(part);
        }
        mac
    }
}

impl LinkKeys for Keys {
    fn sign(&self, account: AccountId, parts: &[&[u8]]) -> Result<String, SigningFailed> {
        let (generation, key) = self
            .0
            .last()
            .ok_or_else(|| SigningFailed("no key".to_owned()))?;
        let mut signature = vec![*generation];
        signature.extend(Self::code(key, account, parts).finalize().into_bytes());
        Ok(URL_SAFE_NO_PAD.encode(signature))
    }

    fn is_signed(&self, account: AccountId, parts: &[&[u8]], signature: &str) -> bool {
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else {
            return false;
        };
        let Some((generation, code)) = signature.split_first() else {
            return false;
        };
        let key = self.0.iter().find(|(id, _)| id == generation);
        key.is_some_and(|(_, key)| Self::code(key, account, parts).verify_slice(code).is_ok())
    }
}

fn object() -> MediaPath {
    MediaPath::Object(ObjectPath::mint(
        BEFORE,
        Shard::new(12).unwrap(),
        AccountId::new(1_000),
        [0xab; PATH_RANDOM_BYTES],
        &ContentType::parse("video/mp4").unwrap(),
    ))
}

fn task() -> MediaPath {
    MediaPath::Task(TaskPath {
        shard: Shard::new(0).unwrap(),
        account: AccountId::new(7),
        task: TaskName::parse(&format!("task_{}", "aZ09".repeat(8))).unwrap(),
    })
}

#[test]
fn a_link_leads_to_what_it_was_signed_for() {
    let keys = Keys::one();
    for (path, start) in [
        (
            object(),
            "/media/12/1000/2023-11-14/abababababababababababababababab.mp4?Expires=1700000600&Signature=",
        ),
        (
            task(),
            "/media/0/7/task/task_aZ09aZ09aZ09aZ09aZ09aZ09aZ09aZ09?Expires=1700000600&Signature=",
        ),
    ] {
        let link = sign(&keys, &path, EXPIRES).unwrap();
        assert!(link.starts_with(start), "{link}");
        assert!(link.len() < MAX_LINK_CHARACTERS);
        assert_eq!(verify(&keys, &link, BEFORE), Ok(path));
    }
}

#[test]
fn a_link_works_up_to_its_second_and_not_beyond() {
    let keys = Keys::one();
    let link = sign(&keys, &object(), EXPIRES).unwrap();
    assert!(verify(&keys, &link, EXPIRES).is_ok());
    let after = Timestamp::from_micros(EXPIRES.micros() + 1);
    assert_eq!(verify(&keys, &link, after), Err(LinkError::Expired));
    assert_eq!(
        verify(&keys, &link, EXPIRES.plus_seconds(86_400)),
        Err(LinkError::Expired)
    );
}

#[test]
fn a_link_with_any_one_byte_changed_is_refused() {
    let keys = Keys::one();
    for path in [object(), task()] {
        let link = sign(&keys, &path, EXPIRES).unwrap();
        for position in 0..link.len() {
            for flipped in 1..=127_u8 {
                let mut bytes = link.clone().into_bytes();
                bytes[position] ^= flipped;
                let altered = String::from_utf8(bytes).unwrap();
                let refused = verify(&keys, &altered, BEFORE).unwrap_err();
                assert_ne!(refused, LinkError::Expired, "{altered}");
            }
        }
    }
}

#[test]
fn a_link_with_any_one_byte_lost_or_doubled_is_refused() {
    let keys = Keys::one();
    let link = sign(&keys, &object(), EXPIRES).unwrap();
    for position in 0..link.len() {
        let mut shorter = link.clone();
        let lost = shorter.remove(position);
        assert!(verify(&keys, &shorter, BEFORE).is_err(), "{shorter}");
        let mut longer = link.clone();
        longer.insert(position, lost);
        assert!(verify(&keys, &longer, BEFORE).is_err(), "{longer}");
    }
}

#[test]
fn what_is_altered_under_the_signature_is_a_bad_signature() {
    let keys = Keys::one();
    let link = sign(&keys, &object(), EXPIRES).unwrap();
    for (from, to) in [
        ("/media/12/", "/media/13/"),
        ("/1000/", "/1001/"),
        ("2023-11-14", "2023-11-13"),
        ("abab", "abac"),
        (".mp4", ".mov"),
        ("Expires=1700000600", "Expires=1800000600"),
        ("Expires=1700000600", "Expires=1600000600"),
        ("Signature=A", "Signature=B"),
    ] {
        let altered = link.replacen(from, to, 1);
        assert_ne!(altered, link, "{from}");
        let verified = verify(&keys, &altered, BEFORE);
        assert_eq!(verified, Err(LinkError::BadSignature), "{altered}");
    }
}

#[test]
fn another_spelling_or_parameter_makes_it_no_link() {
    let keys = Keys::one();
    let link = sign(&keys, &object(), EXPIRES).unwrap();
    let (path, query) = link.split_once('?').unwrap();
    let (expires, signature) = query.split_once('&').unwrap();
    for wrong in [
        format!("{link}&download=1"),
        format!("{path}?download=1&{query}"),
        format!("{path}?{expires}&download=1&{signature}"),
        format!("{path}?{expires}&{expires}&{signature}"),
        format!("{path}?{expires}&{signature}&{signature}"),
        format!("{path}?{expires}&{signature}&{expires}"),
        format!("{path}?{signature}&{expires}"),
        format!("{path}?{expires}"),
        format!("{path}?{signature}"),
        format!("{path}?{}&{signature}", expires.replace('=', "=0")),
        format!("{path}?{}&{signature}", expires.replace('=', "=+")),
        format!("{path}?{}&{signature}", expires.replace('=', "=-")),
        format!("{path}?{}&{signature}", expires.replace("Exp", "exp")),
        format!("{path}?{query}#x"),
        format!("{path}?{query}="),
        format!("{path}?{query}&"),
        format!("{path}?&{query}"),
        format!("{path}/?{query}"),
        format!("{path}%20?{query}"),
        format!("/{path}?{query}"),
        format!("https://media.example{link}"),
        link.replace("/media/12/", "/media/012/"),
        link.replace("/media/12/", "/media/3844/"),
        link.replace("/media/12/", "/media//12/"),
        link.replace("abab", "%61bab"),
        link.replace("/media", "/Media"),
        path.to_owned(),
        String::new(),
        "/media/".to_owned(),
        format!("{link}{}", "A".repeat(MAX_LINK_CHARACTERS)),
    ] {
        let verified = verify(&keys, &wrong, BEFORE);
        assert_eq!(verified, Err(LinkError::NotALink), "{wrong}");
    }
}

#[test]
fn the_signature_of_one_link_fits_no_other() {
    let keys = Keys::one();
    let links = [object(), task()].map(|path| sign(&keys, &path, EXPIRES).unwrap());
    let parts: Vec<_> = links
        .iter()
        .map(|link| link.split_once("&Signature=").unwrap())
        .collect();
    let crossed = format!("{}&Signature={}", parts[0].0, parts[1].1);
    assert_eq!(
        verify(&keys, &crossed, BEFORE),
        Err(LinkError::BadSignature)
    );
}

#[test]
fn another_key_refuses_and_an_older_generation_still_counts() {
    let link = sign(&Keys::one(), &object(), EXPIRES).unwrap();
    let other = Keys(vec![(1, [2; 32])]);
    assert_eq!(verify(&other, &link, BEFORE), Err(LinkError::BadSignature));
    let rotated = Keys(vec![(1, [1; 32]), (2, [2; 32])]);
    assert_eq!(verify(&rotated, &link, BEFORE), Ok(object()));
    let newer = sign(&rotated, &object(), EXPIRES).unwrap();
    assert_ne!(newer, link);
    assert_eq!(verify(&rotated, &newer, BEFORE), Ok(object()));
    let gone = Keys(vec![(2, [2; 32])]);
    assert_eq!(verify(&gone, &link, BEFORE), Err(LinkError::BadSignature));
}

#[test]
fn keys_that_cannot_sign_are_told() {
    let failed = sign(&Keys(Vec::new()), &object(), EXPIRES).unwrap_err();
    assert_eq!(
        failed.to_string(),
        "a medimedia link: signing failed: no key"
    );
}

#[test]
fn a_link_that_saves_is_the_same_link_and_nothing_else_may_follow() {
    let keys = Keys::one();
    let link = sign(&keys, &task(), EXPIRES).unwrap();
    let saved = saving(&link);
    assert_eq!(read_saving(&saved), (link.as_str(), true));
    assert_eq!(read_saving(&link), (link.as_str(), false));
    assert_eq!(verify(&keys, read_saving(&saved).0, BEFORE), Ok(task()));
    for more in ["&download=0", "&download=1&download=1", "&download=1&a=1"] {
        let altered = format!("{link}{more}");
        let (rest, _) = read_saving(&altered);
        assert_eq!(
            verify(&keys, rest, BEFORE),
            Err(LinkError::NotALink),
            "{more}"
        );
    }
    let video = ContentType::parse("video/webm").unwrap();
    let name = task().file_name(&video);
    assert_eq!(name, format!("task_{}.webm", "aZ09".repeat(8)));
    assert_eq!(
        object().file_name(&video),
        format!("{}.mp4", "ab".repeat(16))
    );
}
