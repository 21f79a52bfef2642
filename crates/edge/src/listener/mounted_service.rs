//! Another service that answers some paths of this listener: the console, where both share one.

use std::net::IpAddr;
use std::pin::Pin;

use bytes::Bytes;
use http::Request;
use hyper::body::Incoming;

use crate::response::{Response, ResponseBody};

/// An answer to come.
type Coming = Pin<Box<dyn Future<Output = http::Response<Bytes>> + Send>>;

/// A guest. It gives its answers ids and headers of its own, and they are no customer's calls.
pub struct MountedService {
    /// Whether a path is the guest's.
    pub owns: fn(&str) -> bool,
    /// Answers a request that came from this peer.
    pub answer: Box<dyn Fn(Request<Incoming>, IpAddr) -> Coming + Send + Sync>,
}

impl MountedService {
    pub(super) async fn answered(&self, request: Request<Incoming>, peer: IpAddr) -> Response {
        let answered = (self.answer)(request, peer).await;
        answered.map(|body| ResponseBody::Whole((!body.is_empty()).then_some(body)))
    }
}
