//! A network in CIDR notation, as PostgreSQL's `cidr` takes it: no bits after the prefix.

use std::fmt;
use std::net::IpAddr;

/// A network: `10.0.0.0/8`. One address is a network of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

// === impl Network ===

impl Network {
    /// Reads `10.0.0.0/8`, `2001:db8::/32` or one address. None for anything else, and where bits
    /// stand after the prefix: `10.0.0.1/8` may be meant as one address or as all of them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address.parse::<IpAddr>().ok()?, Some(prefix)),
            None => (text.parse().ok()?, None),
        };
        let prefix = match prefix {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok()?
            }
            Some(_) => return None,
            None => width(address),
        };
        let network = Self { address, prefix };
        let tail = width(address).checked_sub(prefix)?;
        let whole = network.head().checked_shl(u32::from(tail)).unwrap_or(0);
        (whole == bits(address)).then_some(network)
    }

    /// True if every address of `other` is in this network.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        let same_family = self.address.is_ipv4() == other.address.is_ipv4();
        let shorter = Self {
            address: other.address,
            prefix: self.prefix,
        };
        same_family && self.prefix <= other.prefix && self.head() == shorter.head()
    }

    /// The bits before the end of the prefix.
    fn head(&self) -> u128 {
        let tail = width(self.address).saturating_sub(self.prefix);
        bits(self.address).checked_shr(u32::from(tail)).unwrap_or(0)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix)
    }
}

const fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(four) => u128::from(four.to_bits()),
        IpAddr::V6(six) => six.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        Network::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn a_network_has_no_bits_after_its_prefix() {
        for (text, canonical) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.0.0.1", "10.0.0.1/32"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("::/0", "::/0"),
            ("::1", "::1/128"),
            ("2001:DB8:0::/32", "2001:db8::/32"),
        ] {
            assert_eq!(network(text).to_string(), canonical);
        }
        for wrong in [
            "",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "10.0.0.0/+8",
            "::1/127",
            "::/129",
            "::1/0",
            "10.0.0/8",
            "example.com",
            "1.2.3.4/8/8",
        ] {
            assert_eq!(Network::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_network_contains_itself_and_what_is_narrower_of_its_own_family() {
        let rows = [
            ("10.0.0.0/8", "10.0.0.0/8", true),
            ("10.0.0.0/8", "10.255.0.0/16", true),
            ("10.0.0.0/8", "11.0.0.0/16", false),
            ("10.0.0.0/16", "10.0.0.0/8", false),
            ("0.0.0.0/0", "192.0.2.1", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "192.0.2.1", false),
            ("::/0", "2001:db8::/32", true),
            ("2001:db8::/32", "2001:db9::/32", false),
            ("::1", "::1", true),
        ];
        for (outer, inner, expected) in rows {
            let contains = network(outer).contains(&network(inner));
            assert_eq!(contains, expected, "{outer} {inner}");
        }
    }
}
