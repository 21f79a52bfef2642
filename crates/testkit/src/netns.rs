//! A network of its own for a process: one link leads to it, and the link can be cut. Neither
//! side is notified; that is what a broken switch looks like.
//!
//! Made of a network namespace and a pair of virtual interfaces, so it needs iproute2 and a test that is
//! [`privileged`](crate::privileged).

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

use crate::{binaries, random, random_bytes};

/// An address of this machine that every network namespace reaches, whichever link is cut; gone when dropped.
pub struct HostBridge(Ipv4Addr);

/// Only when there is no other way.
const FALLBACK: &str = "50000";
/// Networks are tried until one is free on this machine.
const TRIES: usize = 20;

/// The namespace; gone when dropped.
pub struct NetNamespace {
    name: String,
    cable: String,
    /// The host's end of the link.
    shore: Ipv4Addr,
    own: Ipv4Addr,
}

// === impl HostBridge ===

impl HostBridge {
    #[must_use]
    pub fn take() -> Self {
        for _ in 0..TRIES {
            let [one, two] = random_bytes::<2>();
            let address = Ipv4Addr::new(10, 254, one, two);
            if ip(&["address", "add", &format!("{address}/32"), "dev", "lo"]) {
                return Self(address);
            }
        }
        panic!("no address can be added; is the test privileged, and is iproute2 there?");
    }

    #[must_use]
    pub const fn address(&self) -> IpAddr {
        IpAddr::V4(self.0)
    }
}

impl Drop for HostBridge {
    fn drop(&mut self) {
        ip(&["address", "delete", &format!("{}/32", self.0), "dev", "lo"]);
    }
}

// === impl NetNamespace ===

impl NetNamespace {
    #[must_use]
    pub fn make() -> Self {
        for _ in 0..TRIES {
            let [one, two] = random_bytes::<2>();
            let word: String = random::random_word().chars().take(8).collect();
            let netns = Self {
                name: format!("tl-{word}"),
                cable: format!("tl{word}"),
                shore: Ipv4Addr::new(10, 213 + one % 40, two, 1),
                own: Ipv4Addr::new(10, 213 + one % 40, two, 2),
            };
            if netns.build() {
                return netns;
            }
        }
        panic!("no network namespace can be made; is the test privileged, and is iproute2 there?");
    }

    fn build(&self) -> bool {
        let inner = format!("{}i", self.cable);
        let (shore, own) = (format!("{}/24", self.shore), format!("{}/24", self.own));
        let taken = Command::new("ip")
            .args(["route", "get", &self.own.to_string()])
            .output();
        let taken = taken.map(|done| done.stdout).unwrap_or_default();
        // A way that leads through no gateway is a network that is there already.
        if !taken.is_empty() && !String::from_utf8_lossy(&taken).contains(" via ") {
            return false;
        }
        let inside = |words: &[&str]| {
            let mut all = vec!["netns", "exec", self.name.as_str(), "ip"];
            all.extend(words);
            ip(&all)
        };
        ip(&["netns", "add", &self.name])
            && ip(&[
                "link",
                "add",
                &self.cable,
                "type",
                "veth",
                "peer",
                "name",
                &inner,
            ])
            && ip(&["link", "set", &inner, "netns", &self.name])
            && ip(&["address", "add", &shore, "dev", &self.cable])
            && ip(&["link", "set", &self.cable, "up"])
            && inside(&["address", "add", &own, "dev", &inner])
            && inside(&["link", "set", &inner, "up"])
            && inside(&["link", "set", "lo", "up"])
            && inside(&["route", "add", "default", "via", &self.shore.to_string()])
    }

    /// The network of its cable.
    fn nowhere(&self) -> String {
        let [a, b, c, _] = self.own.octets();
        format!("{a}.{b}.{c}.0/24")
    }

    /// The address of a listener on the host, seen from the namespace.
    #[must_use]
    pub const fn shore(&self) -> IpAddr {
        IpAddr::V4(self.shore)
    }

    /// The address of a listener in the namespace.
    #[must_use]
    pub const fn own(&self) -> IpAddr {
        IpAddr::V4(self.own)
    }

    /// The words before a command that is to run in the namespace.
    #[must_use]
    pub fn words(&self) -> [String; 4] {
        ["ip", "netns", "exec", &self.name].map(str::to_owned)
    }

    pub fn cut_off(&self) {
        binaries::must(Command::new("ip").args(["link", "set", &self.cable, "down"]));
    }

    pub fn join(&self) {
        binaries::must(Command::new("ip").args(["link", "set", &self.cable, "up"]));
    }
}

impl Drop for NetNamespace {
    fn drop(&mut self) {
        ip(&["link", "delete", &self.cable]);
        ip(&["netns", "delete", &self.name]);
        ip(&[
            "route",
            "delete",
            "blackhole",
            &self.nowhere(),
            "metric",
            FALLBACK,
        ]);
    }
}

fn ip(words: &[&str]) -> bool {
    let done = Command::new("ip").args(words).output();
    done.is_ok_and(|done| done.status.success())
}
