//! AWS's own test suite, and calls to Bedrock as another implementation signs them.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde::Deserialize;

use super::canonical::canonical_path;
use super::*;
use crate::client::{Deadlines, Protocol};

/// One case of the suite; `tests/fixtures/README.md` says where it comes from.
#[derive(Deserialize)]
struct Case {
    name: String,
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: String,
    stamp: String,
    canonical: String,
    to_sign: String,
    signature: String,
}

const SUITE: &str = include_str!("../../../tests/fixtures/sigv4.json");
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const TOKEN_TEXT: &str = "FwoGZXIvYXdzEXAMPLE+/=";
/// 2026-11-15 12:30:45 UTC.
const NOW: Timestamp = Timestamp::from_micros(1_794_745_845_000_000);

fn keys(text: &str) -> Result<Keys, OpenError> {
    Keys::read("bedrock", &Secret::new(text.to_owned()))
}

fn call(uri: &str) -> Outgoing<'static> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("accept", HeaderValue::from_static("application/json"));
    headers.insert("user-agent", HeaderValue::from_static("x"));
    Outgoing {
        method: Method::POST,
        uri: uri.parse().unwrap(),
        headers,
        body: Bytes::from_static(br#"{"max_tokens":1}"#).into(),
        deadlines: Deadlines {
            first_byte: Duration::MAX,
            idle: Duration::MAX,
            total: Duration::MAX,
        },
        proxy: None,
        protocol: Protocol::Http1,
    }
}

#[test]
fn every_case_of_the_suite_of_aws_is_signed_as_it_says() {
    let cases: Vec<Case> = serde_json::from_str(SUITE).unwrap();
    assert_eq!(cases.len(), 31);
    let keys = Keys::read("service", &Secret::new(format!("AKIDEXAMPLE:{SECRET}"))).unwrap();
    for case in cases {
        let canonical = Canonical {
            method: &case.method,
            path: &case.path,
            query: &case.query,
            headers: merged(case.headers),
            body: case.body.as_bytes(),
        };
        let scope = Scope {
            stamp: &case.stamp,
            region: "us-east-1",
            service: "service",
        };
        let text = canonical.text();
        assert_eq!(text, case.canonical, "{}", case.name);
        let to_sign = scope.to_sign(&text);
        assert_eq!(to_sign, case.to_sign, "{}", case.name);
        assert_eq!(
            keys.signature(&to_sign, &scope),
            case.signature,
            "{}",
            case.name
        );
        let shown = keys.authorization(&canonical, &scope);
        let begin =
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ";
        assert!(shown.starts_with(begin), "{shown}");
    }
}

#[test]
fn a_path_that_is_encoded_is_encoded_once_more() {
    let sent = "/2015-03-31/functions/arn%3Aaws%3Alambda%3Ax/invocations";
    let signed = "/2015-03-31/functions/arn%253Aaws%253Alambda%253Ax/invocations";
    assert_eq!(canonical_path(sent), signed);
    let sent = "/test/@connections/JBDvjfGEIAMCERw%3D";
    assert_eq!(
        canonical_path(sent),
        "/test/%40connections/JBDvjfGEIAMCERw%253D"
    );
}

#[test]
fn calls_to_bedrock_are_signed_as_botocore_signs_them() {
    let host = "https://bedrock-runtime.eu-west-1.amazonaws.com";
    let whole = format!("{host}/model/anthropic.claude-x-v1%3A0/invoke");
    let streamed = format!(
        "{host}/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.anthropic.x\
         /invoke-with-response-stream"
    );
    let token = Some(TOKEN_TEXT);
    for (uri, token, signature) in [
        (
            &whole,
            None,
            "13b6ebcb4705c647849624f4c6f04d7c486a2a19370e909d9fc46a54db0c235e",
        ),
        (
            &streamed,
            None,
            "b5ffc51bee5811e5a5ec9f951ec83d8861d19028bd997bc5cd042e64d28de500",
        ),
        (
            &whole,
            token,
            "820a87662f34d438c4901fa3d4050f95fee2f0000efd91aade6408877af917d3",
        ),
        (
            &streamed,
            token,
            "1f79aaff0fe950d1ff5eec6bb0e1d1ae33cbc642ea8393eb59b90226af722c70",
        ),
    ] {
        let credential = match token {
            None => format!("AKIDEXAMPLE:{SECRET}"),
            Some(token) => format!("AKIDEXAMPLE:{SECRET}:{token}"),
        };
        let mut call = call(uri);
        // What an earlier attempt left must not be signed again.
        call.headers.insert(DATE, HeaderValue::from_static("old"));
        let headers = keys(&credential).unwrap().headers(&call, NOW).unwrap();
        let of = |name: &str| {
            let mut found = headers.iter().filter(|(known, _)| known == name);
            let value = found.next().map(|(_, value)| value.to_str().unwrap());
            assert!(found.next().is_none());
            value
        };
        assert_eq!(of("x-amz-date"), Some("20261115T123045Z"));
        assert_eq!(of("x-amz-security-token"), token);
        let shown = of("authorization").unwrap();
        assert!(
            shown.ends_with(&format!("Signature={signature}")),
            "{shown}"
        );
        let secret = headers.iter().filter(|(name, _)| *name != DATE);
        assert!(secret.into_iter().all(|(_, value)| value.is_sensitive()));
    }
}

#[test]
fn the_region_is_the_hosts_unless_the_credential_names_one() {
    for (host, region) in [
        ("bedrock-runtime.us-east-1.amazonaws.com", Some("us-east-1")),
        (
            "bedrock-runtime-fips.us-gov-west-1.amazonaws.com",
            Some("us-gov-west-1"),
        ),
        (
            "bedrock-runtime.cn-north-1.amazonaws.com.cn",
            Some("cn-north-1"),
        ),
        (
            "vpce-1-2.bedrock-runtime.eu-west-1.vpce.amazonaws.com",
            Some("eu-west-1"),
        ),
        ("bedrock-runtime.us-east-1.api.aws", Some("us-east-1")),
        ("bedrock.amazonaws.com", None),
        ("amazonaws.com", None),
        ("127.0.0.1", None),
        ("us-east-1.example.com", None),
    ] {
        assert_eq!(region_of(host), region, "{host}");
    }
    let local = call("http://127.0.0.1:4000/model/x/invoke");
    let plain = keys("AKID:secret").unwrap();
    let said = plain.headers(&local, NOW).unwrap_err().to_string();
    assert!(
        said.contains("write @REGION behind the credential"),
        "{said}"
    );
    let named = keys("AKID:secret@ap-south-1").unwrap();
    for uri in [
        "http://127.0.0.1:4000/",
        "https://bedrock-runtime.us-east-1.amazonaws.com/",
    ] {
        let headers = named.headers(&call(uri), NOW).unwrap();
        let shown = headers.last().unwrap().1.to_str().unwrap();
        assert!(
            shown.contains("/ap-south-1/bedrock/aws4_request"),
            "{shown}"
        );
    }
}

#[test]
fn the_host_is_signed_as_it_is_sent() {
    for (uri, expected) in [
        ("https://a.example/", "a.example"),
        ("https://a.example:443/", "a.example"),
        ("https://a.example:8443/", "a.example:8443"),
        ("http://a.example:80/", "a.example"),
        ("http://127.0.0.1:4000/", "127.0.0.1:4000"),
    ] {
        assert_eq!(host(&uri.parse().unwrap()).as_deref(), Some(expected));
    }
}

#[test]
fn a_credential_of_another_shape_is_refused_without_being_quoted() {
    for wrong in [
        "",
        "AKID",
        "AKID:",
        ":secret",
        "AKID:secret:",
        "AKID:sec ret",
        "AKID:secret@",
        "A:b@Up",
    ] {
        assert_eq!(keys(wrong).err(), Some(OpenError::NotAws), "{wrong}");
    }
    let texts = |credential: &str| -> Vec<String> {
        let all = keys(credential).unwrap().secrets();
        all.iter()
            .map(|secret| secret.reveal().to_owned())
            .collect()
    };
    assert_eq!(
        texts("AKID:secret:token@r-1"),
        ["AKID:secret:token@r-1", "AKID", "secret", "token"]
    );
    assert_eq!(texts("AKID:secret\n"), ["AKID:secret\n", "AKID", "secret"]);
}
