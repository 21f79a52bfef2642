//! One WebSocket that has buffers only while a frame is under way: tungstenite's stay as large as the largest frame,
//! and a connection lasts an hour.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::{FutureExt as _, Sink, SinkExt as _, Stream, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::MAX_MESSAGE_BYTES;
use super::frame_stream::FrameStream;

/// Taken from what was read at once: a frame of a tenth of a second of sound.
const READ_BUFFER_BYTES: usize = 8 << 10;

pub(crate) struct Socket<S = TokioIo<Upgraded>> {
    role: Role,
    state: State<S>,
    /// The end has begun, and the decoder knows how far it is.
    is_ending: bool,
}

enum State<S> {
    /// No message is under way.
    Idle(FrameStream<S>),
    Active(Box<WebSocketStream<FrameStream<S>>>),
    /// While one of the others is made of the other.
    Moved,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    /// The WebSocket on a connection that was handed over.
    pub(super) fn new(connection: S, role: Role) -> Self {
        Self {
            role,
            state: State::Idle(FrameStream::new(connection)),
            is_ending: false,
        }
    }

    /// The decoder and encoder, with their buffers.
    fn activate(&mut self) -> Result<&mut WebSocketStream<FrameStream<S>>, Error> {
        if let State::Idle(_) = self.state
            && let State::Idle(stream) = std::mem::replace(&mut self.state, State::Moved)
        {
            let config = WebSocketConfig::default()
                .read_buffer_size(READ_BUFFER_BYTES)
                .write_buffer_size(0)
                .max_write_buffer_size(MAX_MESSAGE_BYTES.saturating_mul(2))
                .max_message_size(Some(MAX_MESSAGE_BYTES))
                .max_frame_size(Some(MAX_MESSAGE_BYTES));
            let made = WebSocketStream::from_raw_socket(stream, self.role, Some(config));
            // It waits for nothing.
            if let Some(made) = made.now_or_never() {
                self.state = State::Active(Box::new(made));
            }
        }
        match &mut self.state {
            State::Active(active) => Ok(active),
            State::Idle(_) | State::Moved => Err(Error::AlreadyClosed),
        }
    }

    /// Gives the buffers back if nothing is in them.
    fn release(&mut self) {
        if let State::Active(active) = &self.state
            && active.get_ref().is_quiet()
            && !self.is_ending
            && let State::Active(active) = std::mem::replace(&mut self.state, State::Moved)
        {
            self.state = State::Idle(active.into_inner());
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for Socket<S> {
    type Item = Result<Message, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let State::Idle(stream) = &mut self.state {
                // At an end the decoder reads the same, and says what it means.
                ready!(stream.poll_fill(context))?;
            }
            let read = self.activate()?.poll_next_unpin(context);
            match &read {
                Poll::Ready(Some(Ok(Message::Text(_) | Message::Binary(_)))) => self.release(),
                // A ping is answered when something is read, written or flushed next.
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(None | Some(Err(_))) => self.is_ending = true,
                Poll::Pending => {
                    self.release();
                    if let State::Idle(_) = self.state {
                        continue;
                    }
                }
            }
            return read;
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Sink<Message> for Socket<S> {
    type Error = Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match &mut self.state {
            State::Idle(_) => Poll::Ready(Ok(())),
            State::Active(active) => active.poll_ready_unpin(context),
            State::Moved => Poll::Ready(Err(Error::AlreadyClosed)),
        }
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> Result<(), Error> {
        self.is_ending |= message.is_close();
        self.activate()?.start_send_unpin(message)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match &mut self.state {
            State::Idle(stream) => Pin::new(stream).poll_flush(context).map_err(Error::Io),
            State::Active(active) => {
                let flushed = ready!(active.poll_flush_unpin(context));
                self.release();
                Poll::Ready(flushed)
            }
            State::Moved => Poll::Ready(Err(Error::AlreadyClosed)),
        }
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.is_ending = true;
        self.activate()?.poll_close_unpin(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio_tungstenite::tungstenite::protocol::CloseFrame;
    use tokio_tungstenite::tungstenite::protocol::frame::Frame;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};

    use super::*;

    type Peer = WebSocketStream<DuplexStream>;

    /// A socket of ours, and its peer behind a pipe of so many bytes.
    async fn pair(role: Role, bytes: usize) -> (Socket<DuplexStream>, Peer) {
        let (ours, theirs) = duplex(bytes);
        let other = match role {
            Role::Server => Role::Client,
            Role::Client => Role::Server,
        };
        let peer = WebSocketStream::from_raw_socket(theirs, other, None).await;
        (Socket::new(ours, role), peer)
    }

    fn is_idle<S>(socket: &Socket<S>) -> bool {
        matches!(socket.state, State::Idle(_))
    }

    #[tokio::test]
    async fn a_socket_relays_frames_of_every_size_and_keeps_no_buffers_between_them() {
        for (role, pipe) in [(Role::Server, 1), (Role::Client, 7), (Role::Server, 70_000)] {
            for size in [0, 1, 125, 126, 6_500, 65_535, 65_536, 200_000] {
                let (mut socket, mut peer) = pair(role, pipe).await;
                let text = "a".repeat(size);
                for _ in 0..2 {
                    let (sent, read) =
                        tokio::join!(peer.send(Message::text(text.clone())), socket.next());
                    sent.unwrap();
                    let read = read.unwrap().unwrap();
                    assert!(is_idle(&socket), "after {size} bytes were read");
                    let (sent, back) = tokio::join!(socket.send(read), peer.next());
                    sent.unwrap();
                    assert_eq!(back.unwrap().unwrap().into_text().unwrap(), text.as_str());
                    assert!(is_idle(&socket), "after {size} bytes were written");
                }
            }
        }
    }

    #[tokio::test]
    async fn a_socket_that_has_read_several_frames_at_once_hands_on_each() {
        let (mut socket, mut peer) = pair(Role::Server, 100_000).await;
        for size in [10, 6_500, 0, 6_500] {
            peer.feed(Message::text("a".repeat(size))).await.unwrap();
        }
        peer.flush().await.unwrap();
        for size in [10, 6_500, 0, 6_500] {
            assert_eq!(socket.next().await.unwrap().unwrap().len(), size);
        }
        assert!(is_idle(&socket));
        assert!(socket.next().now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_socket_keeps_a_message_of_parts_and_answers_a_ping_between_them() {
        let (mut socket, mut peer) = pair(Role::Server, 100_000).await;
        let part = |text: &'static str, data, is_last| {
            Message::Frame(Frame::message(text, OpCode::Data(data), is_last))
        };
        peer.send(part("one ", Data::Text, false)).await.unwrap();
        assert!(socket.next().now_or_never().is_none());
        assert!(!is_idle(&socket));
        peer.send(Message::Ping("p".into())).await.unwrap();
        assert!(socket.next().await.unwrap().unwrap().is_ping());
        peer.send(part("two", Data::Continue, true)).await.unwrap();
        let whole = socket.next().await.unwrap().unwrap();
        assert_eq!(whole.into_text().unwrap(), "one two");
        assert!(is_idle(&socket));
        assert_eq!(
            peer.next().await.unwrap().unwrap(),
            Message::Pong("p".into())
        );
    }

    #[tokio::test]
    async fn a_peer_that_reads_nothing_gets_the_frame_whole_when_it_reads() {
        let (mut socket, mut peer) = pair(Role::Server, 100).await;
        let text = "a".repeat(6_500);
        assert!(
            socket
                .send(Message::text(text.clone()))
                .now_or_never()
                .is_none()
        );
        assert!(socket.next().now_or_never().is_none());
        assert!(!is_idle(&socket));
        let (flushed, read) = tokio::join!(socket.flush(), peer.next());
        flushed.unwrap();
        assert_eq!(read.unwrap().unwrap().into_text().unwrap(), text.as_str());
        assert!(is_idle(&socket));
    }

    #[tokio::test]
    async fn a_socket_closes_from_either_side_with_the_code_of_that_side() {
        let frame = CloseFrame {
            code: CloseCode::Policy,
            reason: "enough".into(),
        };
        let closed = Message::Close(Some(frame));
        let (mut socket, mut peer) = pair(Role::Server, 1_000).await;
        peer.send(closed.clone()).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), closed);
        assert!(socket.next().await.is_none());
        assert_eq!(peer.next().await.unwrap().unwrap(), closed);
        drop(socket);
        assert!(peer.next().await.is_none());
        let (mut socket, mut peer) = pair(Role::Server, 1_000).await;
        socket.send(closed.clone()).await.unwrap();
        assert_eq!(peer.next().await.unwrap().unwrap(), closed);
        peer.flush().await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), closed);
        assert!(socket.next().await.is_none());
    }

    #[tokio::test]
    async fn a_connection_that_breaks_off_is_an_error_and_then_the_end() {
        for sent in [&[][..], &[0x81][..], &[0x81, 0x05, b'a'][..], &[0x83][..]] {
            let (ours, mut theirs) = duplex(100);
            let mut socket = Socket::new(ours, Role::Client);
            theirs.write_all(sent).await.unwrap();
            drop(theirs);
            assert!(socket.next().await.unwrap().is_err(), "{sent:?}");
            assert!(socket.next().await.is_none(), "{sent:?}");
        }
        // What is no frame is refused at once, and not only at the end.
        let (ours, mut theirs) = duplex(100);
        let mut socket = Socket::new(ours, Role::Client);
        theirs.write_all(&[0x83, 0x00]).await.unwrap();
        assert!(socket.next().await.unwrap().is_err());
        drop(socket);
        assert_eq!(theirs.read(&mut [0; 1]).await.unwrap(), 0);
    }
}
