//! Somebody else who answers some paths at our address: the console, where both share one listener.

use std::net::IpAddr;
use std::pin::Pin;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;

use crate::reply::{Answered, Reply};

/// An answer to come.
type Coming = Pin<Box<dyn Future<Output = Response<Bytes>> + Send>>;

/// A guest. It gives its answers ids and headers of its own, and they are no customer's calls.
pub struct Guest {
    /// Whether a path is the guest's.
    pub owns: fn(&str) -> bool,
    /// Answers a request that came from this peer.
    pub answer: Box<dyn Fn(Request<Incoming>, IpAddr) -> Coming + Send + Sync>,
}

impl Guest {
    pub(super) async fn answered(&self, request: Request<Incoming>, peer: IpAddr) -> Answered {
        let answered = (self.answer)(request, peer).await;
        answered.map(|body| Reply::Whole((!body.is_empty()).then_some(body)))
    }
}
