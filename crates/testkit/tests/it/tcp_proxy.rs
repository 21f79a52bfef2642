//! The wire, with an echo at its other end.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use trunkline_testkit::FaultProxy;

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(5);

/// Says back what it is told, for as long as the test's process lives.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut from = stream.try_clone().unwrap();
                drop(std::io::copy(&mut from, &mut stream));
            });
        }
    });
    address
}

fn dial(wire: &FaultProxy) -> Result<TcpStream, Error> {
    let stream = TcpStream::connect(("127.0.0.1", wire.port()))?;
    stream.set_read_timeout(Some(LONG))?;
    Ok(stream)
}

fn ask(stream: &mut TcpStream) -> Result<[u8; 4], Error> {
    stream.write_all(b"ping")?;
    let mut answer = [0; 4];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

#[test]
fn everything_passes_until_told_otherwise() {
    let wire = FaultProxy::to_anything(echo());
    let mut stream = dial(&wire).unwrap();
    assert_eq!(ask(&mut stream).unwrap(), *b"ping");
    let big = vec![7; 1_000_000];
    let mut writer = stream.try_clone().unwrap();
    let sent = big.clone();
    let writing = std::thread::spawn(move || writer.write_all(&sent));
    let mut received = vec![0; big.len()];
    stream.read_exact(&mut received).unwrap();
    writing.join().unwrap().unwrap();
    assert_eq!(received, big);
}

#[test]
fn a_delay_holds_for_open_connections_at_once() {
    let wire = FaultProxy::to_anything(echo());
    let mut stream = dial(&wire).unwrap();
    ask(&mut stream).unwrap();
    wire.delay(SHORT);
    let started = Instant::now();
    ask(&mut stream).unwrap();
    assert!(started.elapsed() >= SHORT);
    wire.pass();
    let started = Instant::now();
    ask(&mut stream).unwrap();
    assert!(started.elapsed() < SHORT);
}

#[test]
fn a_cut_resets_what_is_open_and_lets_new_ones_in() {
    let wire = FaultProxy::to_anything(echo());
    let mut open = dial(&wire).unwrap();
    ask(&mut open).unwrap();
    wire.cut();
    let mut byte = [0];
    let error = open.read_exact(&mut byte).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    assert_eq!(ask(&mut dial(&wire).unwrap()).unwrap(), *b"ping");
}

#[test]
fn a_black_hole_notifies_no_peer_and_delivers_everything_later() {
    let wire = FaultProxy::to_anything(echo());
    let mut open = dial(&wire).unwrap();
    ask(&mut open).unwrap();
    wire.black_hole();
    open.set_read_timeout(Some(SHORT)).unwrap();
    let error = ask(&mut open).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        "{error}"
    );
    let new = dial(&wire).unwrap();
    wire.pass();
    open.set_read_timeout(Some(LONG)).unwrap();
    let mut answer = [0; 4];
    open.read_exact(&mut answer).unwrap();
    assert_eq!(answer, *b"ping");
    let mut new = new;
    assert_eq!(ask(&mut new).unwrap(), *b"ping");
}

#[test]
fn refusing_resets_open_connections_and_accepts_none() {
    let wire = FaultProxy::to_anything(echo());
    let mut open = dial(&wire).unwrap();
    ask(&mut open).unwrap();
    wire.refuse();
    drop(ask(&mut open).unwrap_err());
    let error = dial(&wire).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    wire.pass();
    assert_eq!(ask(&mut dial(&wire).unwrap()).unwrap(), *b"ping");
}

#[test]
fn an_engine_that_is_away_resets_its_clients() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = unused.local_addr().unwrap();
    drop(unused);
    let wire = FaultProxy::to_anything(address);
    let mut stream = dial(&wire).unwrap();
    drop(ask(&mut stream).unwrap_err());
}

#[test]
fn a_dropped_wire_resets_what_is_open() {
    let wire = FaultProxy::to_anything(echo());
    let mut open = dial(&wire).unwrap();
    ask(&mut open).unwrap();
    drop(wire);
    drop(ask(&mut open).unwrap_err());
}
