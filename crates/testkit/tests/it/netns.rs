//! A network namespace is reached by its link and by nothing else.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use trunkline_testkit::{FaultProxy, HostBridge, NetNamespace, privileged};

const SOON: Duration = Duration::from_secs(5);

/// Whether a process in the namespace reaches this address.
fn reaches(netns: &NetNamespace, address: SocketAddr) -> bool {
    let [first, rest @ ..] = netns.words();
    let script = format!("exec 3<>/dev/tcp/{}/{}", address.ip(), address.port());
    let done = Command::new(first)
        .args(rest)
        .args(["timeout", "1", "bash", "-c", &script])
        .stderr(Stdio::null())
        .status();
    done.unwrap().success()
}

#[tokio::test]
async fn a_network_namespace_is_cut_off_by_its_link_and_comes_back() {
    if !privileged().await {
        return;
    }
    let netns = NetNamespace::make();
    let engine = TcpListener::bind("127.0.0.1:0").unwrap();
    let host_bridge = HostBridge::take();
    let wire = FaultProxy::on(host_bridge.address(), engine.local_addr().unwrap());
    let address = SocketAddr::new(host_bridge.address(), wire.port());
    assert!(reaches(&netns, address));
    assert!(
        !reaches(&netns, engine.local_addr().unwrap()),
        "the loopback is its own"
    );
    netns.cut_off();
    assert!(!reaches(&netns, address));
    let other = NetNamespace::make();
    assert!(reaches(&other, address), "another cable is another cable");
    netns.join();
    let began = std::time::Instant::now();
    while !reaches(&netns, address) {
        assert!(began.elapsed() < SOON, "the cable is in again");
    }
    assert!(TcpStream::connect(address).is_ok());
}
