//! A plain client: the vendor fetches what an address names, over HTTP without TLS, and listens to it as
//! it comes. Nothing is guarded here: only tests and the test mode call the simulator.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{HOST, USER_AGENT};
use http::{Request, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::audio_sniff::{AudioInfo, UploadMeter};

/// The audio could not be had.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreachable;

const PATIENCE: Duration = Duration::from_secs(600);
const HTTP_PORT: u16 = 80;

/// Listens to an address or to a data URI.
pub(crate) async fn fetch(address: &str) -> Result<AudioInfo, Unreachable> {
    if let Some(inside) = address.strip_prefix("data:") {
        let (_, digits) = inside.split_once(";base64,").ok_or(Unreachable)?;
        let bytes = STANDARD.decode(digits).map_err(|_| Unreachable)?;
        return Ok(AudioInfo::of(&bytes));
    }
    timeout(PATIENCE, download(address))
        .await
        .map_err(|_| Unreachable)?
}

async fn download(address: &str) -> Result<AudioInfo, Unreachable> {
    let uri: Uri = address.parse().map_err(|_| Unreachable)?;
    if uri.scheme_str() != Some("http") {
        return Err(Unreachable);
    }
    let host = uri.host().ok_or(Unreachable)?;
    let port = uri.port_u16().unwrap_or(HTTP_PORT);
    let stream = TcpStream::connect((host.trim_matches(['[', ']']), port))
        .await
        .map_err(|_| Unreachable)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Unreachable)?;
    // It ends with this function: a set that is dropped ends what it holds.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri.authority().map_or(host, |authority| authority.as_str());
    let request = Request::get(path)
        .header(HOST, authority)
        .header(USER_AGENT, "vendor-fetch/1")
        .body(Empty::<Bytes>::new())
        .map_err(|_| Unreachable)?;
    let answer = sender.send_request(request).await;
    let answer = answer.map_err(|_| Unreachable)?;
    if answer.status() != http::StatusCode::OK {
        return Err(Unreachable);
    }
    let mut body = answer.into_body();
    let mut ear = UploadMeter::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Unreachable)?;
        ear.update(&frame.into_data().unwrap_or_default());
    }
    Ok(ear.done())
}
