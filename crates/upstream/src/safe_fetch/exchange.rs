//! One request and the head of its response, over an open connection that is closed afterwards.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::Builder;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use super::error::FetchError;
use super::resolve_connect::Connection;

const MAX_HEADERS: usize = 100;
/// Bytes of the head of a response, and of its body that are buffered for a reader.
const MAX_BUFFER_BYTES: usize = 64 << 10;

/// A response whose head was received, and the task that drives its connection. Dropping it closes the connection.
pub(super) struct Exchange {
    pub(super) response: Response<Incoming>,
    pub(super) connection: JoinSet<()>,
}

pub(super) async fn exchange(
    connection: Connection,
    request: Request<Full<Bytes>>,
) -> Result<Exchange, FetchError> {
    match connection {
        Connection::Plain(stream) => over(TokioIo::new(stream), request).await,
        Connection::Tls(stream) => over(TokioIo::new(*stream), request).await,
    }
}

async fn over<T>(stream: T, request: Request<Full<Bytes>>) -> Result<Exchange, FetchError>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let (mut sender, driver) = Builder::new()
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_BUFFER_BYTES)
        .handshake(stream)
        .await
        .map_err(|error| fetch_error(&error))?;
    let mut connection = JoinSet::new();
    connection.spawn(async move {
        // The reader of the response gets its error.
        drop(driver.await);
    });
    let sent = sender.send_request(request).await;
    let response = sent.map_err(|error| fetch_error(&error))?;
    Ok(Exchange {
        response,
        connection,
    })
}

/// The error of a broken exchange; hyper's message could contain bytes of a server that is not HTTP.
fn fetch_error(error: &hyper::Error) -> FetchError {
    if error.is_parse_too_large() {
        FetchError::HeadersTooLarge
    } else if error.is_parse() {
        FetchError::BadAnswer
    } else {
        FetchError::BrokenOff
    }
}
