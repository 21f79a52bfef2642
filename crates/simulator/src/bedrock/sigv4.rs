//! AWS Signature Version 4, verified for real: the request is written down canonically again, and
//! the signature must be the one that the known secret gives.

use hmac::{Hmac, KeyInit, Mac};
use http::HeaderMap;
use http::request::Parts;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};
use time::PrimitiveDateTime;
use time::macros::format_description;

use crate::settings::AwsKey;
use crate::tokens::hex;

use crate::anthropic::bedrock::Exception;

/// What the `Authorization` header says.
#[derive(Debug, PartialEq, Eq)]
struct Claim<'a> {
    key_id: &'a str,
    date: &'a str,
    region: &'a str,
    service: &'a str,
    signed_headers: Vec<&'a str>,
    signature: &'a str,
}

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "bedrock";
/// How far the caller's clock may be from ours.
const MAX_SKEW_SECS: u64 = 300;
/// Characters that stay as they are.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');
const UNRESERVED_OR_SLASH: &AsciiSet = &UNRESERVED.remove(b'/');

/// The id of the key that signed, if the signature holds.
pub(super) fn verify(
    parts: &Parts,
    body: &[u8],
    keys: &[AwsKey],
    now_secs: u64,
) -> Result<String, Exception> {
    let Some(header) = text(&parts.headers, "authorization") else {
        return Err(denied(
            "MissingAuthenticationTokenException",
            "Missing Authentication Token",
        ));
    };
    let claim = read(header)?;
    let Some(key) = keys.iter().find(|key| key.id == claim.key_id) else {
        return Err(denied(
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ));
    };
    if claim.service != SERVICE {
        return Err(invalid(
            "Credential should be scoped to correct service: 'bedrock'. ",
        ));
    }
    let Some(moment) = text(&parts.headers, "x-amz-date") else {
        return Err(incomplete(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.",
        ));
    };
    check_time(moment, claim.date, now_secs)?;
    check_signed(&parts.headers, &claim.signed_headers)?;
    let canonical = canonical(parts, body, &claim.signed_headers);
    let scope = format!("{}/{}/{SERVICE}/aws4_request", claim.date, claim.region);
    let digest = hex(&Sha256::digest(canonical));
    let to_sign = format!("{ALGORITHM}\n{moment}\n{scope}\n{digest}");
    let mut secret = format!("AWS4{}", key.secret).into_bytes();
    for part in [claim.date, claim.region, SERVICE, "aws4_request", &to_sign] {
        secret = keyed(&secret, part.as_bytes());
    }
    if hex(&secret) == claim.signature {
        return Ok(key.id.clone());
    }
    Err(invalid(
        "The request signature we calculated does not match the signature you provided. Check \
         your AWS Secret Access Key and signing method. Consult the service documentation for \
         details.",
    ))
}

fn read(header: &str) -> Result<Claim<'_>, Exception> {
    let Some(fields) = header.strip_prefix(ALGORITHM) else {
        return Err(incomplete(
            "Authorization header requires 'AWS4-HMAC-SHA256' as its algorithm.",
        ));
    };
    let field = |name: &str| {
        let mut all = fields
            .split(',')
            .filter_map(|field| field.trim().split_once('='));
        all.find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    };
    let needed = |name: &str| {
        field(name).ok_or_else(|| {
            incomplete(&format!(
                "Authorization header requires '{name}' parameter."
            ))
        })
    };
    let credential: Vec<&str> = needed("Credential")?.split('/').collect();
    let [key_id, date, region, service, "aws4_request"] = credential.as_slice() else {
        return Err(incomplete(
            "Credential must have exactly 5 slash-delimited elements, e.g. \
             keyid/date/region/service/term",
        ));
    };
    Ok(Claim {
        key_id,
        date,
        region,
        service,
        signed_headers: needed("SignedHeaders")?.split(';').collect(),
        signature: needed("Signature")?,
    })
}

/// The moment must be near, and on the day that the credential names.
fn check_time(moment: &str, day: &str, now_secs: u64) -> Result<(), Exception> {
    let form = format_description!("[year][month][day]T[hour][minute][second]Z");
    let parsed = PrimitiveDateTime::parse(moment, form).ok();
    let seconds = parsed.and_then(|time| u64::try_from(time.assume_utc().unix_timestamp()).ok());
    let Some(seconds) = seconds else {
        return Err(incomplete(
            "Date must be in ISO-8601 'basic format', as 20260131T235959Z.",
        ));
    };
    if !moment.starts_with(day) {
        return Err(invalid(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from \
             HTTP.",
        ));
    }
    if seconds.saturating_add(MAX_SKEW_SECS) < now_secs {
        return Err(invalid(&format!(
            "Signature expired: {moment} is more than 5 min. in the past"
        )));
    }
    if now_secs.saturating_add(MAX_SKEW_SECS) < seconds {
        return Err(invalid(&format!(
            "Signature not yet current: {moment} is more than 5 min. in the future"
        )));
    }
    Ok(())
}

/// What must be signed: the host, and every header of AWS's own.
fn check_signed(headers: &HeaderMap, signed: &[&str]) -> Result<(), Exception> {
    let own = headers.keys().map(http::HeaderName::as_str);
    let own = own.filter(|name| name.starts_with("x-amz-"));
    for name in ["host"].into_iter().chain(own) {
        if !signed.contains(&name) {
            return Err(invalid(&format!(
                "'{name}' must be a 'SignedHeader' in the AWS Authorization."
            )));
        }
    }
    Ok(())
}

/// The request as both sides write it down.
fn canonical(parts: &Parts, body: &[u8], signed: &[&str]) -> String {
    // The path is encoded once more than it was sent, which is the rule for all services but S3.
    let path = utf8_percent_encode(parts.uri.path(), UNRESERVED_OR_SLASH);
    let mut query: Vec<&str> = parts
        .uri
        .query()
        .unwrap_or("")
        .split('&')
        .filter(|pair| !pair.is_empty())
        .collect();
    query.sort_unstable();
    let headers: String = signed
        .iter()
        .map(|name| format!("{name}:{}\n", joined(&parts.headers, name)))
        .collect();
    let body = hex(&Sha256::digest(body));
    [
        parts.method.as_str(),
        &path.to_string(),
        &query.join("&"),
        &headers,
        &signed.join(";"),
        &body,
    ]
    .join("\n")
}

/// All values of a header, each with its white space folded.
fn joined(headers: &HeaderMap, name: &str) -> String {
    let values: Vec<String> = headers
        .get_all(name)
        .iter()
        .map(|value| {
            let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
            let words: Vec<&str> = text.split_whitespace().collect();
            words.join(" ")
        })
        .collect();
    values.join(",")
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn keyed(key: &[u8], data: &[u8]) -> Vec<u8> {
    // A key of any length is taken.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return Vec::new();
    };
    mac.update(data);
    mac.finalize().into_bytes().to_vec()
}

fn invalid(message: &str) -> Exception {
    denied("InvalidSignatureException", message)
}

fn incomplete(message: &str) -> Exception {
    denied("IncompleteSignatureException", message)
}

fn denied(name: &'static str, message: &str) -> Exception {
    Exception::new(403, name, message)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    /// 2026-01-31 12:00:00 UTC.
    const NOW: u64 = 1_769_860_800;

    fn keys() -> Vec<AwsKey> {
        vec![AwsKey {
            id: "AKID".to_owned(),
            secret: "secret".to_owned(),
        }]
    }

    /// Signed by botocore 1.44.0 (`SigV4Auth`), not by the code under test.
    fn signed() -> Parts {
        let request = Request::post("http://x/model/anthropic.sim-small-v1:0/invoke")
            .header("host", "127.0.0.1:4000")
            .header("content-type", "application/json")
            .header("x-amz-date", "20260131T120000Z")
            .header("authorization", AUTHORIZATION)
            .body(())
            .unwrap();
        request.into_parts().0
    }

    const AUTHORIZATION: &str = "AWS4-HMAC-SHA256 \
        Credential=AKID/20260131/us-east-1/bedrock/aws4_request, \
        SignedHeaders=content-type;host;x-amz-date, \
        Signature=3f09a5a409c047141cff834d872bcb7bc73cf47b883fb7a587692a76ea3c4264";

    #[test]
    fn a_signature_of_awss_own_library_holds() {
        assert_eq!(
            verify(&signed(), b"{}", &keys(), NOW),
            Ok("AKID".to_owned())
        );
    }

    #[test]
    fn a_changed_body_path_or_header_breaks_it() {
        let wrong = |parts: &Parts, body: &[u8]| verify(parts, body, &keys(), NOW).unwrap_err();
        assert_eq!(wrong(&signed(), b"{ }").name, "InvalidSignatureException");
        let mut parts = signed();
        parts.uri = "/model/anthropic.sim-large-v1:0/invoke".parse().unwrap();
        assert!(wrong(&parts, b"{}").message.contains("does not match"));
        let mut parts = signed();
        parts
            .headers
            .insert("content-type", "text/plain".parse().unwrap());
        assert!(wrong(&parts, b"{}").message.contains("does not match"));
        let mut parts = signed();
        parts.headers.insert("x-amz-extra", "1".parse().unwrap());
        assert!(
            wrong(&parts, b"{}")
                .message
                .contains("must be a 'SignedHeader'")
        );
    }

    #[test]
    fn a_clock_may_be_five_minutes_off_and_not_more() {
        for (now, is_good) in [
            (NOW + 300, true),
            (NOW + 301, false),
            (NOW - 300, true),
            (NOW - 301, false),
        ] {
            let verified = verify(&signed(), b"{}", &keys(), now);
            assert_eq!(verified.is_ok(), is_good, "{now}");
        }
    }

    #[test]
    fn unsigned_and_unknown_callers_are_refused() {
        let mut parts = signed();
        parts.headers.remove("authorization");
        let name =
            |parts: &Parts, keys: &[AwsKey]| verify(parts, b"{}", keys, NOW).unwrap_err().name;
        assert_eq!(name(&parts, &keys()), "MissingAuthenticationTokenException");
        assert_eq!(name(&signed(), &[]), "UnrecognizedClientException");
        for half in ["AWS4-HMAC-SHA256 Credential=AKID/x", "Basic abc"] {
            parts.headers.insert("authorization", half.parse().unwrap());
            assert_eq!(
                name(&parts, &keys()),
                "IncompleteSignatureException",
                "{half}"
            );
        }
    }
}
