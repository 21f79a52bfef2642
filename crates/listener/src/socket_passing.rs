//! Passes listening sockets to another process over a Unix socket (`SCM_RIGHTS`): the queue of connections that
//! are not accepted yet goes with them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Sockets that one message may carry, bytes that are enough for these and their header, and bytes of its text.
const MAX_SOCKETS: usize = 8;
const CARRIED_BYTES: usize = 128;
const MAX_TEXT: usize = 4_096;

/// Sends a text and sockets in one message.
pub fn send_sockets(to: &UnixStream, text: &[u8], sockets: &[BorrowedFd<'_>]) -> io::Result<()> {
    if text.is_empty() || text.len() > MAX_TEXT || sockets.len() > MAX_SOCKETS {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut space = [MaybeUninit::uninit(); CARRIED_BYTES];
    let mut carried = SendAncillaryBuffer::new(&mut space);
    if !carried.push(SendAncillaryMessage::ScmRights(sockets)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let sent = sendmsg(to, &[IoSlice::new(text)], &mut carried, SendFlags::NOSIGNAL)?;
    match sent == text.len() {
        true => Ok(()),
        false => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Receives what [`send_sockets`] sent.
pub fn receive_sockets(from: &UnixStream) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut text = vec![0; MAX_TEXT];
    let mut space = [MaybeUninit::uninit(); CARRIED_BYTES];
    let mut carried = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        from,
        &mut [IoSliceMut::new(&mut text)],
        &mut carried,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    text.truncate(received.bytes);
    let mut sockets = Vec::new();
    for message in carried.drain() {
        if let RecvAncillaryMessage::ScmRights(some) = message {
            sockets.extend(some);
        }
    }
    match text.is_empty() {
        true => Err(io::ErrorKind::UnexpectedEof.into()),
        false => Ok((text, sockets)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn a_connection_that_waits_to_be_accepted_goes_with_its_socket() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut waiting = TcpStream::connect(address).unwrap();
        waiting.write_all(b"hello").unwrap();
        send_sockets(&ours, b"edge", &[listener.as_fd()]).unwrap();
        drop(listener);
        let (text, sockets) = receive_sockets(&theirs).unwrap();
        assert_eq!(text, b"edge");
        let [socket] = <[OwnedFd; 1]>::try_from(sockets).unwrap();
        let listener = TcpListener::from(socket);
        assert_eq!(listener.local_addr().unwrap(), address);
        let (mut accepted, _) = listener.accept().unwrap();
        let mut words = [0; 5];
        accepted.read_exact(&mut words).unwrap();
        assert_eq!(&words, b"hello");
    }

    #[test]
    fn a_peer_that_has_gone_is_an_error_and_no_message() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(ours);
        assert!(receive_sockets(&theirs).is_err());
        assert!(send_sockets(&theirs, b"edge", &[]).is_err());
        assert!(send_sockets(&theirs, &[b'x'; MAX_TEXT + 1], &[]).is_err());
    }
}
