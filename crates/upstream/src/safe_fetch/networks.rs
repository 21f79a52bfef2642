//! Which IP addresses are public. Pure: no network access.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network, written `10.0.0.0/8` or `fd00::/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    bits: u32,
}

/// Why a text is no network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Not an address, a slash and a length that fits.
    #[error("a network is written 10.0.0.0/8 or fd00::/8")]
    Shape,
    /// There are bits behind the length, so one of the two is a slip.
    #[error("the address of a network ends in zeros behind its length, as in 10.0.0.0/8")]
    Bits,
}

/// IPv4 networks that are not public (IANA's special-purpose registry, and reserved ranges).
const NOT_PUBLIC_V4: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),       // "this" network; Linux takes 0.0.0.0 for itself
    ([10, 0, 0, 0], 8),      // private
    ([100, 64, 0, 0], 10),   // shared by carriers (CGNAT), Alibaba's metadata in it
    ([127, 0, 0, 0], 8),     // loopback
    ([169, 254, 0, 0], 16),  // link-local, most clouds' metadata in it
    ([172, 16, 0, 0], 12),   // private
    ([192, 0, 0, 0], 24),    // protocol assignments, Oracle's metadata in it
    ([192, 0, 2, 0], 24),    // documentation
    ([192, 88, 99, 0], 24),  // relays of 6to4
    ([192, 168, 0, 0], 16),  // private
    ([198, 18, 0, 0], 15),   // benchmarks
    ([198, 51, 100, 0], 24), // documentation
    ([203, 0, 113, 0], 24),  // documentation
    ([224, 0, 0, 0], 4),     // multicast
    ([240, 0, 0, 0], 4),     // reserved
    ([255, 255, 255, 255], 32),
];

/// All public unicast of IPv6. Everything outside is denied without a list: unspecified, loopback, IPv4-mapped and
/// -compatible, local NAT64, discard, unique local, link-local, site-local, multicast.
const GLOBAL_V6: ([u16; 8], u32) = ([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// What inside of that is not public. 6to4 and Teredo carry an IPv4 address; they are refused as a
/// whole, because both are retired and no server that is worth a fetch is reached by them.
const NOT_PUBLIC_V6: [([u16; 8], u32); 4] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), // protocols: Teredo, benchmarks, ORCHID
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), // 6to4
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), // documentation
];

/// A host without IPv4 reaches public IPv4 by NAT64's well-known prefix, so the embedded address is checked. The
/// local prefix 64:ff9b:1::/48 may embed it anywhere and is denied.
const NAT64: ([u16; 8], u32) = ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);

/// Metadata services of clouds, which hand out credentials. No setting allows these: an operator who allows
/// `10.0.0.0/8` or `fd00::/8` for internal files does not mean them. Azure's is in public space.
const METADATA_V4: [[u8; 4]; 8] = [
    [169, 254, 169, 254],
    [169, 254, 170, 2],
    [169, 254, 170, 23],
    [169, 254, 42, 42],
    [169, 254, 0, 23],
    [100, 100, 100, 200],
    [168, 63, 129, 16],
    [192, 0, 0, 192],
];
const METADATA_V6: [[u16; 8]; 5] = [
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254],
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x253],
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23],
    [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254],
    [0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42],
];

// === impl Network ===

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (base, bits) = text.split_once('/').ok_or(NetworkError::Shape)?;
        let base: IpAddr = base.parse().map_err(|_| NetworkError::Shape)?;
        let bits: u32 = bits.parse().map_err(|_| NetworkError::Shape)?;
        let (value, width) = match base {
            IpAddr::V4(base) => (u128::from(u32::from(base)), 32),
            IpAddr::V6(base) => (u128::from(base), 128),
        };
        if bits > width {
            return Err(NetworkError::Shape);
        }
        let behind = value.checked_shl(bits.saturating_add(128_u32.saturating_sub(width)));
        if behind.is_some_and(|behind| behind != 0) {
            return Err(NetworkError::Bits);
        }
        Ok(Self { base, bits })
    }
}

impl Network {
    /// Whether an address is in it. An IPv4-mapped IPv6 address is in no IPv4 network.
    #[must_use]
    pub fn holds(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => v4_within(address, base, self.bits),
            (IpAddr::V6(base), IpAddr::V6(address)) => v6_within(address, base, self.bits),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// Whether an address may be connected to.
pub(super) fn may_reach(address: IpAddr, allowed: &[Network]) -> bool {
    if is_metadata(address.to_canonical()) {
        return false;
    }
    allowed.iter().any(|network| network.holds(address)) || is_public(address)
}

/// Whether an address belongs to the public net.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !NOT_PUBLIC_V4
        .iter()
        .any(|(base, bits)| v4_within(address, Ipv4Addr::from(*base), *bits))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let is_in = |(base, bits): ([u16; 8], u32)| v6_within(address, Ipv6Addr::from(base), bits);
    if is_in(NAT64) {
        let inside = last_four(address);
        return is_public_v4(inside) && !is_metadata(IpAddr::V4(inside));
    }
    if !is_in(GLOBAL_V6) || NOT_PUBLIC_V6.into_iter().any(is_in) {
        return false;
    }
    // ISATAP: any prefix, then 0:5efe or 200:5efe, then the IPv4 address that it is sent to.
    let [.., fifth, sixth, _, _] = address.segments();
    let is_isatap = (fifth == 0 || fifth == 0x200) && sixth == 0x5efe;
    !is_isatap || is_public_v4(last_four(address))
}

fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => METADATA_V4.contains(&address.octets()),
        IpAddr::V6(address) => METADATA_V6.contains(&address.segments()),
    }
}

fn last_four(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

fn v4_within(address: Ipv4Addr, base: Ipv4Addr, bits: u32) -> bool {
    let differ = u32::from(address) ^ u32::from(base);
    has_no_bits(u128::from(differ), 32_u32.saturating_sub(bits))
}

fn v6_within(address: Ipv6Addr, base: Ipv6Addr, bits: u32) -> bool {
    let differ = u128::from(address) ^ u128::from(base);
    has_no_bits(differ, 128_u32.saturating_sub(bits))
}

/// Whether nothing is left above so many bits.
fn has_no_bits(value: u128, above: u32) -> bool {
    value.checked_shr(above).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reaches(address: &str, allowed: &[&str]) -> bool {
        let allowed: Vec<Network> = allowed.iter().map(|text| text.parse().unwrap()).collect();
        may_reach(address.parse().unwrap(), &allowed)
    }

    #[test]
    fn the_edges_of_every_network_are_where_the_registry_has_them() {
        for (first_in, last_in) in [
            ("0.0.0.0", "0.255.255.255"),
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.0.0.0", "192.0.0.255"),
            ("192.0.2.0", "192.0.2.255"),
            ("192.88.99.0", "192.88.99.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("198.18.0.0", "198.19.255.255"),
            ("198.51.100.0", "198.51.100.255"),
            ("203.0.113.0", "203.0.113.255"),
            ("224.0.0.0", "255.255.255.255"),
        ] {
            let (first, last): (Ipv4Addr, Ipv4Addr) =
                (first_in.parse().unwrap(), last_in.parse().unwrap());
            assert!(
                !is_public_v4(first) && !is_public_v4(last),
                "{first} {last}"
            );
            for outside in [
                u32::from(first).checked_sub(1),
                u32::from(last).checked_add(1),
            ] {
                let Some(outside) = outside.map(Ipv4Addr::from) else {
                    continue;
                };
                assert!(is_public_v4(outside), "{outside} beside {first}");
            }
        }
        for (not, public) in [
            ("1fff:ffff::1", "2003::1"),
            ("4000::1", "3ffe::1"),
            ("2001:1ff:ffff::1", "2001:200::1"),
            ("2001:db8:ffff::1", "2001:db9::1"),
            ("2002::1", "2003::1"),
            ("3fff:fff::1", "3fff:1000::1"),
            ("64:ff9b::7f00:1", "64:ff9b::808:808"),
            ("64:ff9b::a83f:8110", "64:ff9b::a83f:8111"),
            ("64:ff9b:1::808:808", "2606:4700::1111"),
            ("2606::5efe:7f00:1", "2606::5efe:808:808"),
        ] {
            assert!(!reaches(not, &[]), "{not}");
            assert!(reaches(public, &[]), "{public}");
        }
    }

    #[test]
    fn an_allowed_network_lets_in_what_it_holds_and_never_the_metadata() {
        assert!(reaches("127.0.0.1", &["127.0.0.0/8"]));
        assert!(reaches("::1", &["::1/128"]));
        assert!(!reaches("127.0.0.2", &["127.0.0.1/32"]));
        assert!(!reaches("::ffff:127.0.0.1", &["127.0.0.0/8"]));
        assert!(!reaches("169.254.169.254", &["0.0.0.0/0"]));
        assert!(!reaches("168.63.129.16", &["0.0.0.0/0"]));
        assert!(!reaches("fd00:ec2::254", &["fd00::/8", "::/0"]));
        assert!(!reaches("::ffff:169.254.169.254", &["::/0"]));
        assert!(reaches("fd00:ec2::255", &["fd00::/8"]));
    }

    #[test]
    fn a_network_is_an_address_with_a_length_and_nothing_behind_it() {
        for good in ["0.0.0.0/0", "::/0", "10.1.2.3/32", "fd00::/8", "::1/128"] {
            assert!(good.parse::<Network>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "10.0.0.0",
            "10.0.0.0/33",
            "::/129",
            "a/8",
            "10.0.0.0/-1",
        ] {
            assert_eq!(bad.parse::<Network>(), Err(NetworkError::Shape), "{bad}");
        }
        for bad in ["10.0.0.1/8", "::1/127", "128.0.0.0/0", "8000::/0"] {
            assert_eq!(bad.parse::<Network>(), Err(NetworkError::Bits), "{bad}");
        }
    }
}
