//! What client and mail server say to each other.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};

use super::mail::Mail;
use super::{Line, Shared, SmtpBehaviour, lock};

/// Longest line, and longest email.
const MAX_LINE: usize = 100_000;
const MAX_MAIL: usize = 1_000_000;
/// How often a thread that waits looks whether the server is over.
const LOOK: Duration = Duration::from_millis(100);

trait Talk: Read + Write {}
impl<T: Read + Write> Talk for T {}

/// What follows the dialogue on one line.
enum Next {
    Over,
    StartTls,
}

/// Speaks with one caller until either goes.
pub(super) fn speak(stream: TcpStream, shared: &Shared) {
    // Errors end the dialogue, as a broken line does.
    drop(spoken(stream, shared));
}

fn spoken(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(LOOK))?;
    match (shared.line, &shared.tls) {
        (Line::Tls, Some(tls)) => {
            let session = ServerConnection::new(Arc::clone(tls)).map_err(io::Error::other)?;
            let mut stream = StreamOwned::new(session, stream);
            dialogue(&mut stream, shared, true, true).map(drop)
        }
        (Line::StartTls, Some(tls)) => {
            if let Next::Over = dialogue(&mut stream, shared, true, false)? {
                return Ok(());
            }
            let session = ServerConnection::new(Arc::clone(tls)).map_err(io::Error::other)?;
            let mut stream = StreamOwned::new(session, stream);
            dialogue(&mut stream, shared, false, true).map(drop)
        }
        (Line::Plain | Line::Tls | Line::StartTls, _) => {
            dialogue(&mut stream, shared, true, true).map(drop)
        }
    }
}

fn dialogue(
    stream: &mut dyn Talk,
    shared: &Shared,
    greets: bool,
    is_private: bool,
) -> io::Result<Next> {
    if greets {
        say(stream, "220 loopback ESMTP")?;
    }
    let (mut from, mut to) = (String::new(), String::new());
    loop {
        let line = hear(stream, shared)?;
        let verb = line.to_ascii_uppercase();
        let behaviour = *lock(&shared.behaviour);
        if verb.starts_with("EHLO") || verb.starts_with("HELO") {
            let offers = if is_private {
                "250 AUTH PLAIN LOGIN"
            } else {
                "250 STARTTLS"
            };
            say(stream, "250-loopback")?;
            say(stream, offers)?;
        } else if verb == "STARTTLS" && !is_private {
            say(stream, "220 go on")?;
            return Ok(Next::StartTls);
        } else if !is_private && verb != "QUIT" {
            say(stream, "530 5.7.0 must issue STARTTLS first")?;
        } else if let Some(login) = line.strip_prefix("AUTH PLAIN ") {
            let reply = if behaviour == SmtpBehaviour::NoLogin {
                "535 5.7.8 who are you"
            } else {
                lock(&shared.logins).push(login.to_owned());
                "235 welcome"
            };
            say(stream, reply)?;
        } else if verb.starts_with("MAIL FROM:") {
            from = address(&line);
            say(stream, "250 ok")?;
        } else if verb.starts_with("RCPT TO:") {
            to = address(&line);
            say(stream, answer_to_recipient(behaviour))?;
        } else if verb == "DATA" {
            if behaviour == SmtpBehaviour::Hang {
                wait_for_the_end(stream, shared)?;
                return Ok(Next::Over);
            }
            say(stream, "354 go on")?;
            let data = email(stream, shared)?;
            lock(&shared.mails).push(Mail::new(&from, &to, &data));
            if behaviour == SmtpBehaviour::DropAfterData {
                return Ok(Next::Over);
            }
            say(stream, "250 taken")?;
        } else if verb == "QUIT" {
            say(stream, "221 bye")?;
            return Ok(Next::Over);
        } else if verb == "RSET" || verb == "NOOP" {
            say(stream, "250 ok")?;
        } else {
            say(stream, "502 what?")?;
        }
    }
}

const fn answer_to_recipient(behaviour: SmtpBehaviour) -> &'static str {
    match behaviour {
        SmtpBehaviour::PutOff => "451 4.3.0 later",
        SmtpBehaviour::Refuse => "550 5.1.1 no such user: the email was rejected",
        SmtpBehaviour::Take
        | SmtpBehaviour::NoLogin
        | SmtpBehaviour::Hang
        | SmtpBehaviour::DropAfterData => "250 ok",
    }
}

fn address(line: &str) -> String {
    let inner = line
        .split('<')
        .nth(1)
        .and_then(|rest| rest.split('>').next());
    inner.unwrap_or_default().to_owned()
}

/// The lines of an email up to a lone dot.
fn email(stream: &mut dyn Talk, shared: &Shared) -> io::Result<String> {
    let mut data = String::new();
    loop {
        let line = hear(stream, shared)?;
        if line == "." {
            return Ok(data);
        }
        data.push_str(line.strip_prefix('.').unwrap_or(&line));
        data.push_str("\r\n");
        if data.len() > MAX_MAIL {
            return Err(io::Error::other("the email is too long"));
        }
    }
}

fn wait_for_the_end(stream: &mut dyn Talk, shared: &Shared) -> io::Result<()> {
    loop {
        hear(stream, shared)?;
    }
}

fn say(stream: &mut dyn Talk, line: &str) -> io::Result<()> {
    stream.write_all(format!("{line}\r\n").as_bytes())?;
    stream.flush()
}

/// One line, byte by byte: a client that is told to start TLS sends nothing before our answer.
fn hear(stream: &mut dyn Talk, shared: &Shared) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0_u8; 1];
    loop {
        match stream.read(&mut byte) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) if byte == *b"\n" => {
                let text = String::from_utf8_lossy(&line);
                return Ok(text.trim_end_matches('\r').to_owned());
            }
            Ok(_) if line.len() < MAX_LINE => line.extend(byte),
            Ok(_) => return Err(io::Error::other("the line is too long")),
            Err(error) => {
                let waits = matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                );
                if !waits || shared.is_over.load(Ordering::SeqCst) {
                    return Err(error);
                }
            }
        }
    }
}
