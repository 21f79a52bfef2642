//! The receiving end of traces: a listener that reads what OTLP over HTTP sends, and keeps it.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::net::TcpListener;

/// Answers with this status never come.
pub(crate) const SILENT: u16 = 0;

/// What it wants to see with every request.
pub(crate) const COLLECTOR_TOKEN: &str = "Bearer collector";

#[derive(Clone)]
pub(crate) struct Collector {
    pub(crate) url: String,
    pub(crate) status: Arc<AtomicU16>,
    bodies: Arc<Mutex<Vec<Bytes>>>,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        let collector = Self {
            url,
            status: Arc::new(AtomicU16::new(200)),
            bodies: Arc::default(),
        };
        let serving = collector.clone();
        #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = serving.clone();
                tokio::spawn(async move {
                    let take = service_fn(|request| serving.take(request));
                    let server = hyper::server::conn::http1::Builder::new();
                    server.serve_connection(TokioIo::new(stream), take).await
                });
            }
        });
        collector
    }

    async fn take(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        assert_eq!(request.uri().path(), "/v1/traces");
        let content_type = request.headers().get("content-type").cloned();
        assert_eq!(content_type.unwrap(), "application/x-protobuf");
        let token = request.headers().get("authorization").cloned();
        assert_eq!(token.unwrap(), COLLECTOR_TOKEN);
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let status = self.status.load(Ordering::SeqCst);
        if status == SILENT {
            std::future::pending::<()>().await;
        }
        if status == 200 {
            self.bodies.lock().unwrap().push(body);
        }
        let mut response = Response::new(Full::new(Bytes::new()));
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        Ok(response)
    }

    /// Everything that was sent, as it was sent.
    pub(crate) fn bodies(&self) -> Vec<Bytes> {
        self.bodies.lock().unwrap().clone()
    }

    /// Every span so far. What is told with all of them is checked here.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for body in self.bodies() {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            for of_resource in request.resource_spans {
                let resource = of_resource.resource.unwrap();
                let named = |name: &str| resource.attributes.iter().any(|pair| pair.key == name);
                assert!(named("service.name") && named("service.instance.id"));
                for of_scope in of_resource.scope_spans {
                    assert_eq!(of_scope.scope.unwrap().name, "trunkline-gateway");
                    spans.extend(of_scope.spans);
                }
            }
        }
        spans
    }

    /// The spans of a call, once they are here: its own first, then its attempts in their order.
    pub(crate) async fn of_call(&self, id: &str) -> Vec<Span> {
        for _ in 0..500 {
            let spans = self.spans();
            let own = spans
                .iter()
                .find(|span| text(span, "trunkline.request.id").as_deref() == Some(id));
            if let Some(own) = own {
                let below = spans
                    .iter()
                    .filter(|span| span.parent_span_id == own.span_id);
                let mut all = vec![own.clone()];
                all.extend(below.cloned());
                return all;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("no trace of {id} has come");
    }
}

pub(crate) fn value(span: &Span, name: &str) -> Option<Value> {
    let mut found = span.attributes.iter().filter(|pair| pair.key == name);
    let value = found.next()?.value.clone()?.value;
    assert!(found.next().is_none(), "{name} stands twice");
    value
}

pub(crate) fn text(span: &Span, name: &str) -> Option<String> {
    let value = value(span, name)?;
    let Value::StringValue(text) = value else {
        panic!("{name} is {value:?}");
    };
    Some(text)
}

pub(crate) fn number(span: &Span, name: &str) -> Option<i64> {
    let value = value(span, name)?;
    let Value::IntValue(number) = value else {
        panic!("{name} is {value:?}");
    };
    Some(number)
}

pub(crate) fn texts(span: &Span, name: &str) -> Vec<String> {
    match value(span, name) {
        Some(Value::ArrayValue(array)) => {
            let values = array.values.into_iter();
            let texts = values.map(|one| match one.value {
                Some(Value::StringValue(text)) => text,
                other => panic!("{name} holds {other:?}"),
            });
            texts.collect()
        }
        other => panic!("{name} is {other:?}"),
    }
}
