//! Headers for the collector of traces, in the form of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value` with commas between,
//! values percent-encoded.

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use trunkline_types::Secret;

const PROBLEM: &str = "must be headers such as authorization=Bearer%20secret, with commas between";

/// Reads them. A value is never repeated, nor printed later.
pub(super) fn headers(text: &Secret) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let pairs = text.reveal().split(',').map(str::trim);
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let (name, value) = read(pair).ok_or_else(|| PROBLEM.to_owned())?;
        headers.append(name, value);
    }
    Ok(headers)
}

fn read(pair: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = pair.split_once('=')?;
    let value: Vec<u8> = percent_decode_str(value.trim()).collect();
    let mut value = HeaderValue::from_bytes(&value).ok()?;
    value.set_sensitive(true);
    Some((HeaderName::from_bytes(name.trim().as_bytes()).ok()?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_open_telemetry_writes_them_and_never_printed() {
        let read = |text: &str| headers(&Secret::new(text.to_owned()));
        let two = read("authorization=Bearer%20canary, x-scope = a=b").unwrap();
        assert_eq!(two["authorization"], "Bearer canary");
        assert_eq!(two["x-scope"], "a=b");
        assert!(!format!("{two:?}").contains("canary"));
        assert!(read("").unwrap().is_empty());
        for wrong in ["canary", "a b=canary", "a=canary%0a"] {
            let problem = read(wrong).unwrap_err();
            assert!(!problem.contains("canary"), "{problem}");
        }
    }
}
