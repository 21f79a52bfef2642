//! Forms with a recording in them, whole or as a stream that is never in memory whole.

use std::io;

use bytes::Bytes;
use tokio::sync::mpsc;
use trunkline_upstream::Payload;

const BOUNDARY: &str = "----form-of-a-fault";
/// Samples and bytes of one second: 16 bits, one channel.
const RATE: u32 = 8_000;
pub(super) const SECOND_BYTES: u32 = RATE * 2;
/// Bytes of a wav file before its samples, and of the head of another chunk.
const HEAD_BYTES: u64 = 44;
const CHUNK_HEAD_BYTES: u64 = 8;
/// Bytes that are made at one go, and pieces that wait to be sent.
const PIECE: usize = 256 << 10;
const PIECES: usize = 2;

/// A wav file of silence; behind its samples may stand an unknown chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sound {
    samples: u32,
    junk: u32,
}

impl Sound {
    pub(crate) const fn seconds(seconds: u32) -> Self {
        Self {
            samples: seconds * SECOND_BYTES,
            junk: 0,
        }
    }

    /// A file of so many bytes that is silence throughout.
    pub(crate) fn of_bytes(bytes: u64) -> Self {
        Self {
            samples: u32::try_from(bytes - HEAD_BYTES).unwrap(),
            junk: 0,
        }
    }

    /// A file of so many bytes of which so many seconds are sound.
    pub(super) fn with_junk(seconds: u32, bytes: u64) -> Self {
        let samples = seconds * SECOND_BYTES;
        let junk = bytes - HEAD_BYTES - u64::from(samples) - CHUNK_HEAD_BYTES;
        Self {
            samples,
            junk: u32::try_from(junk).unwrap(),
        }
    }

    /// Seconds as they are billed.
    pub(super) const fn billed(self) -> u32 {
        self.samples.div_ceil(SECOND_BYTES)
    }

    pub(crate) fn head(self) -> Bytes {
        let behind = if self.junk == 0 { 0 } else { self.junk + 8 };
        let mut head = Vec::new();
        head.extend_from_slice(b"RIFF");
        head.extend_from_slice(&(36 + self.samples + behind).to_le_bytes());
        head.extend_from_slice(b"WAVEfmt ");
        head.extend_from_slice(&16_u32.to_le_bytes());
        head.extend_from_slice(&1_u16.to_le_bytes());
        head.extend_from_slice(&1_u16.to_le_bytes());
        head.extend_from_slice(&RATE.to_le_bytes());
        head.extend_from_slice(&SECOND_BYTES.to_le_bytes());
        head.extend_from_slice(&2_u16.to_le_bytes());
        head.extend_from_slice(&16_u16.to_le_bytes());
        head.extend_from_slice(b"data");
        head.extend_from_slice(&self.samples.to_le_bytes());
        Bytes::from(head)
    }

    pub(crate) fn silence(self) -> Bytes {
        Bytes::from(vec![0; usize::try_from(self.samples).unwrap()])
    }

    fn junk_head(self) -> Bytes {
        Bytes::from([&b"junk"[..], &self.junk.to_le_bytes()].concat())
    }

    pub(super) fn bytes(self) -> u64 {
        let junk = match u64::from(self.junk) {
            0 => 0,
            junk => junk + CHUNK_HEAD_BYTES,
        };
        HEAD_BYTES + u64::from(self.samples) + junk
    }

    /// A form with these fields and this file, made while it is sent.
    pub(super) fn streamed(self, fields: &[(&str, &str)]) -> Payload {
        let (before, after) = around(fields);
        let around = u64::try_from(before.len() + after.len()).unwrap();
        let left = around + self.bytes();
        let (sender, pieces) = mpsc::channel(PIECES);
        #[expect(clippy::disallowed_methods, reason = "it ends with its reader")]
        tokio::spawn(async move {
            let sent = async {
                send(&sender, before).await?;
                send(&sender, self.head()).await?;
                silence(&sender, self.samples).await?;
                if self.junk > 0 {
                    send(&sender, self.junk_head()).await?;
                    silence(&sender, self.junk).await?;
                }
                send(&sender, after).await
            };
            // A server that answers before the end does not read the rest.
            sent.await.unwrap_or(());
        });
        Payload::Pieces { pieces, left }
    }
}

type Pieces = mpsc::Sender<io::Result<Bytes>>;

async fn send(sender: &Pieces, bytes: Bytes) -> Option<()> {
    sender.send(Ok(bytes)).await.ok()
}

async fn silence(sender: &Pieces, bytes: u32) -> Option<()> {
    let piece = Bytes::from(vec![0; PIECE]);
    let mut left = usize::try_from(bytes).unwrap();
    while left > 0 {
        let next = piece.slice(..left.min(PIECE));
        left -= next.len();
        send(sender, next).await?;
    }
    Some(())
}

pub(crate) fn content_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

/// What stands before a file and behind it.
pub(crate) fn around(fields: &[(&str, &str)]) -> (Bytes, Bytes) {
    let part = |(name, text): &(&str, &str)| {
        format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
    };
    let mut before: String = fields.iter().map(part).collect();
    before.push_str(&format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\
         Content-Type: audio/wav\r\n\r\n"
    ));
    (
        Bytes::from(before),
        Bytes::from(format!("\r\n--{BOUNDARY}--\r\n")),
    )
}
