//! A real S3 server in this process: s3s over a folder, on a loopback port, with one key.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

pub(crate) const ACCESS_KEY: &str = "test-key";
pub(crate) const SECRET_KEY: &str = "test-secret";
pub(crate) const BUCKET: &str = "videos";

/// A server that ends with this value.
pub(crate) struct S3Server {
    pub(crate) address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl S3Server {
    /// Serves a folder; the bucket is made.
    pub(crate) async fn start(root: &Path) -> Self {
        Self::start_with(root, None).await
    }

    /// The same behind TLS.
    pub(crate) async fn start_tls(root: &Path, tls: ServerConfig) -> Self {
        Self::start_with(root, Some(TlsAcceptor::from(Arc::new(tls)))).await
    }

    async fn start_with(root: &Path, tls: Option<TlsAcceptor>) -> Self {
        std::fs::create_dir_all(root.join(BUCKET)).unwrap();
        let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(root).unwrap());
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = builder.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                connections.spawn(connection(socket, tls.clone(), service.clone()));
            }
        });
        Self {
            address,
            _tasks: tasks,
        }
    }
}

async fn connection(socket: TcpStream, tls: Option<TlsAcceptor>, service: S3Service) {
    match tls {
        None => serve(socket, service).await,
        Some(tls) => {
            if let Ok(socket) = tls.accept(socket).await {
                serve(socket, service).await;
            }
        }
    }
}

async fn serve(socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, service: S3Service) {
    let served = Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(socket), service)
        .await;
    // A client that leaves is no fault of the server's.
    drop(served);
}
