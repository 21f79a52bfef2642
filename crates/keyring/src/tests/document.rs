//! Proofs for the two spellings of a document and for what is refused.

use proptest::prelude::*;
use trunkline_types::Secret;

use super::*;
use crate::{Binding, DocumentError, MAX_DOCUMENT_BYTES, SourceError, TextSource};

const KEY_A: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const KEY_B: &str = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";

fn parse(text: &str) -> Result<Document, DocumentError> {
    Document::parse(text.as_bytes())
}

fn toml(generation: &str, key: &str, rest: &str) -> String {
    format!("version = 1\n\n[current]\ngeneration = {generation}\nkey = \"{key}\"\n{rest}")
}

#[test]
fn both_spellings_are_read_back_as_they_were_written() {
    for rotations in 0..3 {
        let document = document(rotations);
        let (toml, line) = (document.to_toml(), document.to_line());
        let from_toml = parse(toml.reveal()).unwrap();
        assert_eq!(from_toml.to_toml().reveal(), toml.reveal());
        assert_eq!(from_toml.generations(), document.generations());
        let from_line = parse(&format!("\n {}\r\n", line.reveal())).unwrap();
        assert_eq!(from_line.to_line().reveal(), line.reveal());
        assert_eq!(from_line.generations().current.created_at, None);
        assert_eq!(
            parse(from_line.to_toml().reveal())
                .unwrap()
                .to_line()
                .reveal(),
            line.reveal()
        );
        assert_eq!(from_toml.to_line().reveal(), line.reveal());
    }
}

#[test]
fn the_one_line_form_is_current_then_previous() {
    let document = parse(&format!("v1:5:{KEY_B},3:{KEY_A}")).unwrap();
    let generations = document.generations();
    assert_eq!(generations.current.id.number(), 5);
    assert_eq!(generations.previous.unwrap().id.number(), 3);
    assert!(
        parse(&format!("v1:1:{KEY_A}"))
            .unwrap()
            .generations()
            .previous
            .is_none()
    );
}

#[test]
fn a_wrong_one_line_form_is_refused() {
    for wrong in [
        "v1:".to_owned(),
        "v1:1".to_owned(),
        format!("v1:{KEY_A}"),
        format!("v1:0:{KEY_A}"),
        format!("v1:-1:{KEY_A}"),
        format!("v1:65536:{KEY_A}"),
        format!("v1: 1:{KEY_A}"),
        format!("v1:2:{KEY_A},"),
    ] {
        assert_eq!(parse(&wrong).unwrap_err(), DocumentError::Line, "{wrong}");
    }
    for wrong in [
        format!("v1:2:{KEY_A},1:{KEY_A}"),
        format!("v1:1:{KEY_A},2:{KEY_B}"),
        format!("v1:1:{KEY_A},1:{KEY_B}"),
    ] {
        assert_eq!(parse(&wrong).unwrap_err(), DocumentError::Order, "{wrong}");
    }
    let three = format!("v1:3:{KEY_A},2:{KEY_B},1:{KEY_A}");
    assert!(matches!(parse(&three), Err(DocumentError::Key { .. })));
}

#[test]
fn a_key_is_32_bytes_in_base64_and_no_placeholder() {
    let placeholder = format!("{}=", "A".repeat(43));
    let loose_bits = KEY_A.replace("8=", "9=");
    for wrong in [
        "",
        "AAECAwQ=",
        "not base64",
        &KEY_A[..43],
        &format!("{KEY_A}{KEY_A}"),
        &placeholder,
        &loose_bits,
    ] {
        for text in [toml("1", wrong, ""), format!("v1:1:{wrong}")] {
            let error = parse(&text).unwrap_err();
            assert!(
                matches!(error, DocumentError::Key { .. }),
                "{text}: {error:?}"
            );
        }
    }
}

#[test]
fn a_wrong_toml_form_is_refused_by_its_line_and_quotes_nothing() {
    let unknown = toml("1", KEY_A, "comment = \"canary\"\n");
    assert_eq!(
        parse(&unknown).unwrap_err(),
        DocumentError::Toml { line: 6 }
    );
    for wrong in [
        toml("\"canary\"", KEY_A, ""),
        toml("-1", KEY_A, ""),
        toml("70000", KEY_A, ""),
        toml("1", KEY_A, "created_at = \"canary\"\n"),
        toml("1", KEY_A, "canary"),
        toml("1", KEY_A, "[previous]\ncanary = 1\n"),
        toml("1", KEY_A, "[older]\ngeneration = 1\n"),
        format!("version = \"canary {KEY_A}\""),
        format!("version = 1\ncurrent = \"{KEY_A} canary\""),
        "canary".to_owned(),
        "version = 1".to_owned(),
    ] {
        let error = parse(&wrong).unwrap_err();
        let printed = format!("{error} {error:?}");
        assert!(
            matches!(error, DocumentError::Toml { .. }),
            "{wrong}: {printed}"
        );
        assert!(
            !printed.contains("canary") && !printed.contains(KEY_A),
            "{printed}"
        );
    }
    let not_text = Document::parse(b"version = 1\n\xFF").unwrap_err();
    assert_eq!(not_text, DocumentError::Toml { line: 2 });
    assert_eq!(
        parse(&toml("0", KEY_A, "")).unwrap_err(),
        DocumentError::Order
    );
}

#[test]
fn a_later_version_is_told_as_such() {
    let later = "version = 2\nshape = \"unknown to us\"\n";
    assert_eq!(
        parse(later).unwrap_err(),
        DocumentError::Version { found: 2 }
    );
}

#[test]
fn an_empty_or_overlong_document_is_refused() {
    for empty in ["", " \n\t"] {
        assert_eq!(parse(empty).unwrap_err(), DocumentError::Empty);
    }
    let text = toml("1", KEY_A, "");
    let most = format!("{text}{}", " ".repeat(MAX_DOCUMENT_BYTES - text.len()));
    assert!(parse(&most).is_ok());
    assert_eq!(
        parse(&format!("{most} ")).unwrap_err(),
        DocumentError::TooLarge
    );
}

#[test]
fn a_text_source_gives_a_keyring() {
    let line = document(1).to_line();
    let random = Arc::new(CountingRandom::from(9));
    let keyring = Keyring::load(&TextSource::new(line), random).unwrap();
    let binding = Binding::of_operator(b"row");
    let token = super::keyring()
        .seal(Purpose::Quotes, &binding, b"secret")
        .unwrap();
    assert_eq!(
        keyring
            .open(Purpose::Quotes, &binding, &token)
            .unwrap()
            .reveal(),
        b"secret"
    );

    let source = TextSource::new(Secret::new("v1:canary".to_owned()));
    assert!(!format!("{source:?}").contains("canary"));
    let error = Keyring::load(&source, Arc::new(NoRandom)).unwrap_err();
    assert!(matches!(error, SourceError::Document(DocumentError::Line)));
}

#[test]
fn no_key_is_made_without_good_random_bytes() {
    struct Broken;
    impl RandomSource for Broken {
        fn fill(&self, _bytes: &mut [u8]) -> Result<(), RandomError> {
            Ok(())
        }
    }
    let refused = Document::generate(now(), &NoRandom).unwrap_err();
    assert!(matches!(refused, DocumentError::Random(_)));
    let refused = document(0).rotate(now(), &NoRandom).unwrap_err();
    assert!(matches!(refused, DocumentError::Random(_)));
    let refused = Document::generate(now(), &Broken).unwrap_err();
    assert!(matches!(refused, DocumentError::Key { .. }));
    let repeats = document(0)
        .rotate(now(), &CountingRandom::from(0))
        .unwrap_err();
    assert_eq!(
        repeats,
        DocumentError::Order,
        "the same key again is no rotation"
    );
}

#[test]
fn the_last_generation_number_is_not_passed() {
    let last = parse(&format!("v1:65535:{KEY_A}")).unwrap();
    let refused = last.rotate(now(), &CountingRandom::from(0)).unwrap_err();
    assert_eq!(refused, DocumentError::Exhausted);
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,200}", tail in "[0-9:,=A-Za-z+/]{0,60}") {
        drop(parse(&text));
        drop(parse(&format!("v1:{tail}")));
    }
}
