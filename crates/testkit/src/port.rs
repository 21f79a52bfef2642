//! Free TCP ports on the loopback.
//!
//! Below the range from which the kernel gives ports to outgoing connections: a server that is down
//! for a moment must find its port free when it comes back.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::random::random_bytes;

const FIRST: u16 = 12_000;
const COUNT: u16 = 20_000;
const TRIES: usize = 200;

/// A port without a listener a moment ago. Another process may be faster, so a server that starts on it
/// must be ready to try another.
pub(crate) fn free() -> u16 {
    for _ in 0..TRIES {
        let port = FIRST + u16::from_be_bytes(random_bytes()) % COUNT;
        if TcpListener::bind(loopback(port)).is_ok() {
            return port;
        }
    }
    panic!("no free port on the loopback after {TRIES} tries");
}

/// The address of a port on this machine.
pub(crate) fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}
