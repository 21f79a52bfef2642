//! The caller's address behind proxies. A forwarding header is as trustworthy as its sender: it is
//! read from the nearest hop outwards, and only as far as each hop was added by a trusted proxy.
//! Only `x-forwarded-for` is read: a proxy that appends to one header passes the other on as its
//! caller wrote it.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use trunkline_store::Network;

const HEADER: &str = "x-forwarded-for";
/// Proxies in a row that are followed.
const MAX_HOPS: usize = 32;

/// The peer's address, or the one a trusted proxy gives.
#[must_use]
pub fn caller_address(headers: &HeaderMap, peer: IpAddr, proxies: &[Network]) -> IpAddr {
    let mut address = peer.to_canonical();
    if proxies.is_empty() {
        return address;
    }
    let lines = headers.get_all(HEADER).iter().rev();
    let hops = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
    for hop in hops.take(MAX_HOPS) {
        if !is_trusted(address, proxies) {
            break;
        }
        // What lies beyond a hop that cannot be read was not added by a trusted proxy.
        let Some(parsed) = read(hop) else { break };
        address = parsed;
    }
    address
}

pub(super) fn is_trusted(address: IpAddr, proxies: &[Network]) -> bool {
    let own = Network::parse(&address.to_string());
    own.is_some_and(|own| proxies.iter().any(|network| network.contains(&own)))
}

/// An address, as proxies write it: plain, in brackets, or with a port.
fn read(hop: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(hop).ok()?.trim();
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse().ok();
    let with_port = || text.parse().ok().map(|socket: SocketAddr| socket.ip());
    address
        .or_else(with_port)
        .map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn address(peer: &str, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            let value = HeaderValue::from_bytes(line.as_bytes()).unwrap();
            headers.append(HEADER, value);
        }
        let proxies = ["10.0.0.0/8", "2001:db8:1::/48"].map(|text| Network::parse(text).unwrap());
        caller_address(&headers, peer.parse().unwrap(), &proxies).to_string()
    }

    // covers: D-1-44, D-1-45
    #[test]
    fn only_a_trusted_proxy_may_name_the_caller() {
        assert_eq!(address("10.0.0.1", &["203.0.113.9"]), "203.0.113.9");
        assert_eq!(address("198.51.100.1", &["203.0.113.9"]), "198.51.100.1");
        assert_eq!(address("10.0.0.1", &[]), "10.0.0.1");
        let untrusted = caller_address(
            &HeaderMap::from_iter([(HEADER.parse().unwrap(), HeaderValue::from_static("1.1.1.1"))]),
            "10.0.0.1".parse().unwrap(),
            &[],
        );
        assert_eq!(
            untrusted.to_string(),
            "10.0.0.1",
            "no proxy is trusted by default"
        );
    }

    #[test]
    fn several_hops_are_followed_as_far_as_each_was_told_by_one_we_trust() {
        assert_eq!(
            address("10.0.0.1", &["203.0.113.9, 10.2.2.2, 10.3.3.3"]),
            "203.0.113.9"
        );
        assert_eq!(
            address("10.0.0.1", &["203.0.113.9", "10.2.2.2,10.3.3.3"]),
            "203.0.113.9",
            "several lines are one list"
        );
        assert_eq!(
            address("10.0.0.1", &["1.2.3.4, 203.0.113.9, 10.3.3.3"]),
            "203.0.113.9",
            "what the caller wrote in front is not believed"
        );
        assert_eq!(address("10.0.0.1", &["10.9.9.9, 10.8.8.8"]), "10.9.9.9");
        let forged = vec!["10.1.1.1"; 100].join(",");
        assert_eq!(
            address("10.0.0.1", &[&format!("8.8.8.8,{forged}")]),
            "10.1.1.1"
        );
    }

    #[test]
    fn addresses_of_version_six_and_ports_are_read() {
        assert_eq!(
            address("2001:db8:1::5", &["2001:db8:2::7"]),
            "2001:db8:2::7"
        );
        assert_eq!(
            address("::ffff:10.0.0.1", &["::ffff:203.0.113.9"]),
            "203.0.113.9"
        );
        assert_eq!(
            address("10.0.0.1", &["[2001:db8:2::7]:443"]),
            "2001:db8:2::7"
        );
        assert_eq!(address("10.0.0.1", &["[2001:db8:2::7]"]), "2001:db8:2::7");
        assert_eq!(address("10.0.0.1", &["203.0.113.9:5678"]), "203.0.113.9");
        assert_eq!(address("2001:db8:2::1", &["203.0.113.9"]), "2001:db8:2::1");
    }

    #[test]
    fn a_garbage_header_hides_no_client_address() {
        assert_eq!(
            address("10.0.0.1", &["garbage, 203.0.113.9"]),
            "203.0.113.9",
            "what a caller wrote does not make it its proxy"
        );
        assert_eq!(
            address("10.0.0.1", &["\u{fc}", "203.0.113.9"]),
            "203.0.113.9"
        );
        for garbage in [
            "",
            ",",
            "unknown",
            "_secret",
            "1.2.3",
            "1.2.3.4.5",
            "[::1",
            "for=1.2.3.4",
        ] {
            assert_eq!(address("10.0.0.1", &[garbage]), "10.0.0.1", "{garbage}");
            assert_eq!(
                address("10.0.0.1", &[&format!("203.0.113.9, {garbage}")]),
                "10.0.0.1",
                "{garbage}"
            );
        }
    }
}
