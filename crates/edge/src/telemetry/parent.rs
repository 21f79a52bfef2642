//! The caller's own span, by the W3C header `traceparent`. What is not exactly one is not there.

use http::HeaderMap;

const HEADER: &str = "traceparent";
/// Version, trace, span and flags with the dashes between them.
const LENGTH: usize = 55;

/// A span of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TraceParent {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
}

impl TraceParent {
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(HEADER).iter();
        let (one, another) = (values.next()?, values.next());
        if another.is_some() {
            return None;
        }
        Self::parse(one.as_bytes())
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let (known, rest) = text.split_at_checked(LENGTH)?;
        let mut parts = known.split(|byte| *byte == b'-');
        let [version] = hex(parts.next()?)?;
        let trace: [u8; 16] = hex(parts.next()?)?;
        let span: [u8; 8] = hex(parts.next()?)?;
        let [_flags] = hex(parts.next()?)?;
        // A later version may say more after a dash; this one may not.
        let fits = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.is_empty() || rest.starts_with(b"-"),
        };
        let real = trace != [0; 16] && span != [0; 8];
        (fits && real && parts.next().is_none()).then_some(Self { trace, span })
    }
}

/// Lower-case digits only, as the standard wants.
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => byte.checked_sub(b'0'),
        b'a'..=b'f' => byte.checked_sub(b'a')?.checked_add(10),
        _ => None,
    };
    let mut bytes = [0; N];
    let (pairs, rest) = text.as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(high)?.checked_mul(16)?.checked_add(digit(low)?)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_caller_s_span_is_read_exactly_as_the_standard_writes_it() {
        let parent = TraceParent::parse(GOOD.as_bytes()).unwrap();
        assert_eq!(parent.trace[..3], [0x0a, 0xf7, 0x65]);
        assert_eq!(parent.span[7], 0x31);
        let later = format!("cc{}-what-comes-later", &GOOD[2..]);
        assert_eq!(TraceParent::parse(later.as_bytes()), Some(parent));
    }

    #[test]
    fn what_is_not_exactly_a_caller_s_span_is_none() {
        let upper = GOOD.to_uppercase();
        let longer = format!("{GOOD}-more");
        let of_later = format!("cc{}x", &GOOD[2..]);
        let newest = GOOD.replacen("00", "ff", 1);
        for wrong in [
            "",
            "nonsense",
            &GOOD[..54],
            &upper,
            &longer,
            &of_later,
            &newest,
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b71692033310-1",
            "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
            "00-0af7651916cd43dd8448eb211c8031\u{e9}-b7ad6b7169203331-01",
        ] {
            assert_eq!(TraceParent::parse(wrong.as_bytes()), None, "{wrong}");
        }
        let mut headers = HeaderMap::new();
        assert_eq!(TraceParent::read(&headers), None);
        headers.append(HEADER, GOOD.parse().unwrap());
        assert!(TraceParent::read(&headers).is_some());
        headers.append(HEADER, GOOD.parse().unwrap());
        assert_eq!(TraceParent::read(&headers), None, "two are none");
    }
}
