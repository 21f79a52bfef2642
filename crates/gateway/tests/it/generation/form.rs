//! Forms as clients send them.

use bytes::Bytes;
use http::Method;

use crate::response::GatewayResponse;
use crate::test_gateway::TestGateway;

const BOUNDARY: &str = "----form-of-a-test";

pub(crate) fn content_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

/// A form under way.
#[derive(Default)]
pub(crate) struct Form(Vec<u8>);

impl Form {
    pub(crate) fn text(mut self, name: &str, text: &str) -> Self {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n"
        );
        self.0.extend_from_slice(head.as_bytes());
        self
    }

    pub(crate) fn file(mut self, name: &str, file: &str, kind: &str, bytes: &[u8]) -> Self {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; \
             filename=\"{file}\"\r\nContent-Type: {kind}\r\n\r\n"
        );
        self.0.extend_from_slice(head.as_bytes());
        self.0.extend_from_slice(bytes);
        self.0.extend_from_slice(b"\r\n");
        self
    }

    pub(crate) async fn send(self, harness: &TestGateway, path: &str) -> GatewayResponse {
        self.send_with(harness, path, &[]).await
    }

    /// All of it, closed.
    pub(crate) fn bytes(mut self) -> Bytes {
        self.0
            .extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
        Bytes::from(self.0)
    }

    pub(crate) async fn send_with(
        self,
        harness: &TestGateway,
        path: &str,
        extra: &[(&'static str, &str)],
    ) -> GatewayResponse {
        let kind = content_type();
        let mut headers = vec![("content-type", kind.as_str())];
        headers.extend_from_slice(extra);
        let body = self.bytes();
        GatewayResponse::read(harness.send_with(Method::POST, path, body, &headers).await).await
    }
}

/// A wav file of 16-bit mono silence with a click in it: so many samples at 8,000 a second.
pub(crate) fn wav(samples: u32) -> Vec<u8> {
    wav_of(samples, 16)
}

pub(crate) fn wav_of(samples: u32, bits: u16) -> Vec<u8> {
    let (rate, each) = (8_000_u32, u32::from(bits / 8));
    let bytes = samples * each;
    let mut file = Vec::new();
    file.extend_from_slice(b"RIFF");
    file.extend_from_slice(&(36 + bytes).to_le_bytes());
    file.extend_from_slice(b"WAVEfmt ");
    file.extend_from_slice(&16_u32.to_le_bytes());
    file.extend_from_slice(&1_u16.to_le_bytes());
    file.extend_from_slice(&1_u16.to_le_bytes());
    file.extend_from_slice(&rate.to_le_bytes());
    file.extend_from_slice(&(rate * each).to_le_bytes());
    file.extend_from_slice(&u16::try_from(each).unwrap().to_le_bytes());
    file.extend_from_slice(&bits.to_le_bytes());
    file.extend_from_slice(b"data");
    file.extend_from_slice(&bytes.to_le_bytes());
    let at = file.len();
    file.resize(at + usize::try_from(bytes).unwrap(), 0);
    if let Some(first) = file.get_mut(at) {
        *first = 99;
    }
    file
}
