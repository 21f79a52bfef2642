//! Bodies that are JSON, and some that are not.

use super::*;

#[test]
fn members_stand_where_the_bytes_say() {
    let text = br#" { "a" : 1 , "b\u0062":[{"c":"x"}] ,"c":null} "#;
    let object = scan(text).unwrap();
    let keys: Vec<&str> = object.members().iter().map(|m| m.key.as_ref()).collect();
    assert_eq!(keys, ["a", "bb", "c"]);
    assert_eq!(object.value("bb").unwrap(), br#"[{"c":"x"}]"#);
    assert_eq!(object.value("c").unwrap(), b"null");
    assert!(object.value("d").is_none());
}

#[test]
fn a_duplicate_key_is_refused_on_every_level_and_in_every_spelling() {
    for text in [
        r#"{"a":1,"a":2}"#,
        r#"{"x":{"a":1,"b":2,"a":3}}"#,
        r#"{"x":[[{"a":1,"\u0061":3}]]}"#,
    ] {
        let error = scan(text.as_bytes()).unwrap_err();
        assert_eq!(error, JsonError::DuplicateKey("a".to_owned()), "{text}");
    }
    assert!(scan(br#"{"a":{"a":{"a":[{"a":1},{"a":1}]}}}"#).is_ok());
}

#[test]
fn what_serde_takes_we_take_and_what_it_refuses_we_refuse() {
    let cases = [
        r#"{}"#,
        r#"{"a":-0.5e+10}"#,
        r#"{"a":01}"#,
        r#"{"a":1.}"#,
        r#"{"a":.5}"#,
        r#"{"a":+1}"#,
        r#"{"a":"\x"}"#,
        r#"{"a":"\u12"}"#,
        "{\"a\":\"\n\"}",
        r#"{"a":tru}"#,
        r#"{"a":1,}"#,
        r#"{,"a":1}"#,
        r#"{"a" 1}"#,
        r#"{"a":1}}"#,
        r#"{"a":1"#,
        r#"{"a":[1,]}"#,
        r#"{"a":[1 2]}"#,
        r#"{a:1}"#,
        r#"{"a":"é🎈"}"#,
        r#"{"a":nan}"#,
        "",
        " ",
        r#"{"a":"#,
        r#"{"a":1e400}"#,
    ];
    for text in cases {
        let ours = scan(text.as_bytes()).is_ok();
        let theirs = serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
        assert_eq!(ours, theirs, "{text}");
    }
    assert_eq!(scan(b"{\"a\":\"\xff\"}").unwrap_err(), JsonError::NotUtf8);
    assert_eq!(scan(b"[1]").unwrap_err(), JsonError::NotAnObject);
}

#[test]
fn depth_is_bounded() {
    let nest = |levels: usize| {
        format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels)).into_bytes()
    };
    assert!(scan(&nest(MAX_DEPTH - 1)).is_ok());
    assert_eq!(scan(&nest(MAX_DEPTH)).unwrap_err(), JsonError::TooDeep);
    assert_eq!(scan(&nest(1_000_000)).unwrap_err(), JsonError::TooDeep);
}
