//! AWS's own test suite, and calls to Bedrock as another implementation signs them.

use aws_sigv4::http_request::PercentEncodingMode;
use bytes::Bytes;
use http::{HeaderMap, Method};
use serde::Deserialize;

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

/// The signature of one request to `service` in `us-east-1`. The headers hold what a `HeaderMap` can hold: a
/// folded value is one line.
fn signed(case: &Case, mode: PercentEncodingMode) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let token = case.headers.iter().find(|(name, _)| name.as_str() == TOKEN);
    let token = token
        .map(|(_, token)| format!(":{token}"))
        .unwrap_or_default();
    let text = format!("AKIDEXAMPLE:{SECRET}{token}");
    let keys = Keys::read("service", &Secret::new(text)).unwrap();
    let lines: Vec<(String, String)> = case
        .headers
        .iter()
        .filter(|(name, _)| name.as_str() != DATE && name.as_str() != TOKEN)
        .map(|(name, value)| {
            (
                name.clone(),
                value.split_ascii_whitespace().collect::<Vec<_>>().join(" "),
            )
        })
        .collect();
    let headers = lines
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let query = match case.query.as_str() {
        "" => String::new(),
        query => format!("?{query}"),
    };
    let uri = format!("https://example.amazonaws.com{}{query}", case.path);
    let body = SignableBody::Bytes(case.body.as_bytes());
    let request = SignableRequest::new(&case.method, uri, headers, body).ok()?;
    let mut settings = SigningSettings::default();
    settings.percent_encoding_mode = mode;
    // 2015-08-30 12:36:00 UTC.
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_440_938_160);
    keys.sign(request, "us-east-1", at, settings)
}

#[test]
fn every_case_of_the_suite_of_aws_is_signed_as_it_says() {
    let cases: Vec<Case> = serde_json::from_str(SUITE).unwrap();
    assert_eq!(cases.len(), 31);
    for case in cases {
        let Some(headers) = signed(&case, PercentEncodingMode::Double) else {
            // A space in a path: no `Uri`, and so no call, can hold it.
            assert_eq!(case.name, "get-space-normalized");
            assert!(case.path.parse::<Uri>().is_err());
            continue;
        };
        assert_eq!(headers[0].1, case.stamp, "{}", case.name);
        let authorization = headers.last().unwrap().1.to_str().unwrap();
        let begin =
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ";
        assert!(authorization.starts_with(begin), "{authorization}");
        // It signs the digest of the canonical request, so it stands for each byte of it.
        let names = case.canonical.lines().rev().nth(1).unwrap();
        let end = format!("SignedHeaders={names}, Signature={}", case.signature);
        assert!(
            authorization.ends_with(&end),
            "{}: {authorization}",
            case.name
        );
    }
}

#[test]
fn a_path_that_is_encoded_is_encoded_once_more() {
    for (sent, signed_as) in [
        (
            "/2015-03-31/functions/arn%3Aaws%3Alambda%3Ax/invocations",
            "/2015-03-31/functions/arn%253Aaws%253Alambda%253Ax/invocations",
        ),
        (
            "/test/@connections/JBDvjfGEIAMCERw%3D",
            "/test/%40connections/JBDvjfGEIAMCERw%253D",
        ),
    ] {
        let case = |path: &str| Case {
            path: path.to_owned(),
            ..serde_json::from_str::<Vec<Case>>(SUITE).unwrap().remove(0)
        };
        let double = signed(&case(sent), PercentEncodingMode::Double);
        let single = signed(&case(signed_as), PercentEncodingMode::Single);
        assert!(double.is_some());
        assert_eq!(double, single);
    }
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
        let authorization = of("authorization").unwrap();
        assert!(
            authorization.ends_with(&format!("Signature={signature}")),
            "{authorization}"
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
    let message = plain.headers(&local, NOW).unwrap_err().to_string();
    assert!(
        message.contains("write @REGION behind the credential"),
        "{message}"
    );
    let named = keys("AKID:secret@ap-south-1").unwrap();
    for uri in [
        "http://127.0.0.1:4000/",
        "https://bedrock-runtime.us-east-1.amazonaws.com/",
    ] {
        let headers = named.headers(&call(uri), NOW).unwrap();
        let authorization = headers.last().unwrap().1.to_str().unwrap();
        assert!(
            authorization.contains("/ap-south-1/bedrock/aws4_request"),
            "{authorization}"
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
