//! The bytes of one WebSocket on their way to its decoder: read many at once and handed on so that a frame's buffer is
//! no larger than the frame, and watched for when no frame is under way in either direction. What frames mean is the
//! decoder's.

use std::io::{self, Cursor};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Control, OpCode};

/// Read at once: two frames of a tenth of a second of sound, and the largest size that the allocator has small blocks
/// for. There is a buffer only while something lies in it.
const READ_BYTES: usize = 14 << 10;

pub(super) struct FrameStream<S> {
    stream: S,
    /// Read, and not taken by the decoder yet.
    read: BytesMut,
    frame: FramePart,
    /// A message has begun whose last frame has not.
    in_message: bool,
    /// A close frame, or what is no frame, was read: what follows belongs to the end.
    is_ending: bool,
    /// The decoder has something that was not written yet.
    is_blocked: bool,
}

/// What the decoder has still to take of the frame that it reads.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct FramePart {
    header: u64,
    payload: u64,
}

// === impl FrameStream ===

impl<S> FrameStream<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            read: BytesMut::new(),
            frame: FramePart::default(),
            in_message: false,
            is_ending: false,
            is_blocked: false,
        }
    }

    /// Whether no message is under way, so that a decoder has nothing that another one would need.
    pub(super) fn is_quiet(&self) -> bool {
        let is_between = self.frame == FramePart::default() && self.read.is_empty();
        is_between && !self.in_message && !self.is_ending && !self.is_blocked
    }

    /// Takes the header of the next frame from what was read. False if it is not whole.
    fn begin_frame(&mut self) -> bool {
        let mut cursor = Cursor::new(&self.read);
        let (header, payload) = match FrameHeader::parse(&mut cursor) {
            Ok(Some(parsed)) => parsed,
            Ok(None) => return false,
            // The decoder finds the same.
            Err(_) => {
                self.is_ending = true;
                self.frame.payload = u64::MAX;
                return true;
            }
        };
        match header.opcode {
            OpCode::Data(_) => self.in_message = !header.is_final,
            OpCode::Control(Control::Close) => self.is_ending = true,
            OpCode::Control(Control::Ping | Control::Pong | Control::Reserved(_)) => {}
        }
        self.frame = FramePart {
            header: cursor.position(),
            payload,
        };
        true
    }
}

impl<S: AsyncRead + Unpin> FrameStream<S> {
    /// Reads what there is. True if there is something, false at the end.
    pub(super) fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.read.capacity() == 0 {
            self.read = BytesMut::with_capacity(READ_BYTES);
        }
        let filled = pin!(self.stream.read_buf(&mut self.read)).poll(context);
        if self.read.is_empty() {
            self.read = BytesMut::new();
        }
        filled.map_ok(|read| read > 0)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FrameStream<S> {
    /// A header, or bytes of one payload: the decoder makes space for a payload when it has read the header, beside
    /// everything that it has read already.
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        while stream.frame == FramePart::default() && !stream.begin_frame() {
            if !ready!(stream.poll_fill(context))? {
                // A part of a header that ends here is the decoder's.
                stream.is_ending = true;
                stream.frame.payload = u64::MAX;
            }
        }
        if stream.read.is_empty() && !ready!(stream.poll_fill(context))? {
            return Poll::Ready(Ok(()));
        }
        let frame = &mut stream.frame;
        let part = if frame.header > 0 {
            &mut frame.header
        } else {
            &mut frame.payload
        };
        let most = usize::try_from(*part).unwrap_or(usize::MAX);
        let taken = most.min(stream.read.len()).min(buffer.remaining());
        *part = part.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
        buffer.put_slice(stream.read.get(..taken).unwrap_or_default());
        stream.read.advance(taken);
        if stream.read.is_empty() {
            stream.read = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FrameStream<S> {
    /// The decoder writes all that it has at once.
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.is_blocked = !matches!(written, Poll::Ready(Ok(written)) if written == bytes.len());
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
