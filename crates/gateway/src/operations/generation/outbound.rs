//! A vendor request on its way: JSON, or a form whose files are in memory or come from the disk.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderValue;
use tokio::sync::mpsc;
use trunkline_generation::{Content, Encoded, Part, VendorRequest};
use trunkline_types::RequestId;
use trunkline_upstream::{Deadlines, Payload, SendError, UpstreamResponse};

use crate::failover::To;
use crate::services::Services;
use crate::uploads::Upload;
use crate::vendors::{self, VendorBody};

/// Pieces of an upload under way.
const PIECES: usize = 4;

/// How long a vendor request may take: all of it, and between two pieces of its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waits {
    pub(super) total: Duration,
    pub(super) idle: Duration,
}

/// A request as a channel's vendor takes it, and how its answer is read.
pub(crate) struct VendorCall<Protocol: 'static> {
    pub(crate) protocol: &'static Protocol,
    pub(crate) written: Encoded,
}

/// Sends a vendor request and waits for the head of its answer.
pub(super) async fn send(
    services: &Services,
    to: To<'_>,
    request: &VendorRequest,
    upload: Option<&Upload>,
    id: RequestId,
    waits: Waits,
) -> Result<UpstreamResponse, SendError> {
    let To {
        channel,
        credential,
        query: _,
    } = to;
    let deadlines = channel.deadlines(waits.total, waits.idle);
    let sending = match &request.form {
        None => {
            let json = HeaderValue::from_static("application/json");
            let body = request.body.clone();
            VendorBody {
                content_type: body.is_some().then_some(json),
                payload: body.map_or_else(Bytes::new, Bytes::from).into(),
            }
        }
        Some(parts) => multipart_form(services, parts, upload, id)?,
    };
    // The head of an answer to an upload comes when the upload has gone out.
    let deadlines = match upload {
        Some(_) => Deadlines {
            first_byte: deadlines.total,
            ..deadlines
        },
        None => deadlines,
    };
    vendors::send(services, channel, credential, request, sending, deadlines).await
}

fn multipart_form(
    services: &Services,
    parts: &[Part],
    upload: Option<&Upload>,
    id: RequestId,
) -> Result<VendorBody, SendError> {
    let unsent = |why: &str| SendError::NotSent(why.to_owned());
    // Nothing a caller sends can know it: half of it is random, and new for each call.
    let boundary = format!("trunkline-{}", id.uuid().simple());
    let kind = format!("multipart/form-data; boundary={boundary}");
    let content_type = HeaderValue::from_str(&kind).map_err(|_| unsent("no boundary"))?;
    let mut before = BytesMut::new();
    let mut after: Option<BytesMut> = None;
    for part in parts {
        let out = after.as_mut().unwrap_or(&mut before);
        open_part(out, &boundary, part);
        match &part.content {
            Content::Text(text) => out.extend_from_slice(text.as_bytes()),
            Content::File { bytes, .. } => out.extend_from_slice(bytes),
            // What follows the upload stands behind it.
            Content::Upload { .. } if after.is_none() => after = Some(BytesMut::new()),
            Content::Upload { .. } => return Err(unsent("a form with two uploads")),
        }
        after
            .as_mut()
            .unwrap_or(&mut before)
            .extend_from_slice(b"\r\n");
    }
    let end = format!("--{boundary}--\r\n");
    let payload = match (after, upload) {
        (None, _) => {
            before.extend_from_slice(end.as_bytes());
            before.freeze().into()
        }
        (Some(_), None) => return Err(unsent("a form without its upload")),
        (Some(mut after), Some(upload)) => {
            after.extend_from_slice(end.as_bytes());
            stream_upload(services, before.freeze(), upload, after.freeze())
        }
    };
    Ok(VendorBody {
        payload,
        content_type: Some(content_type),
    })
}

/// A body with an upload in its middle, read from the disk while it is sent.
fn stream_upload(services: &Services, before: Bytes, upload: &Upload, after: Bytes) -> Payload {
    let lengths = [before.len(), after.len()];
    let around = lengths.into_iter().fold(0_u64, |sum, length| {
        sum.saturating_add(u64::try_from(length).unwrap_or(u64::MAX))
    });
    let left = around.saturating_add(upload.bytes());
    let (sender, pieces) = mpsc::channel(PIECES);
    let mut reading = upload.reading();
    services.tasks.spawn(async move {
        if sender.send(Ok(before)).await.is_err() {
            return;
        }
        while let Some(piece) = reading.next().await {
            let is_over = piece.is_err();
            if sender.send(piece).await.is_err() || is_over {
                return;
            }
        }
        drop(sender.send(Ok(after)).await);
    });
    Payload::Pieces { pieces, left }
}

/// The head of a part. Names come from callers: what could end the head is left out of them.
fn open_part(out: &mut BytesMut, boundary: &str, part: &Part) {
    let quoted = |text: &str| -> String {
        let plain = |sign: &char| !sign.is_control() && !matches!(sign, '"' | '\\');
        text.chars().filter(plain).take(MAX_NAME).collect()
    };
    let name = quoted(&part.name);
    let head = match &part.content {
        Content::Text(_) => {
            format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n")
        }
        Content::File {
            name: file,
            content_type,
            ..
        }
        | Content::Upload {
            name: file,
            content_type,
        } => format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"; \
             filename=\"{}\"\r\ncontent-type: {}\r\n\r\n",
            quoted(file),
            quoted(content_type)
        ),
    };
    out.extend_from_slice(head.as_bytes());
}

/// Characters of a name in a form.
const MAX_NAME: usize = 200;
