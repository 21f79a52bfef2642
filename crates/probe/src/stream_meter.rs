//! Speech that is measured while it passes.

use crate::adts_mpeg::Frames;
use crate::incremental::Incremental;
use crate::stream::{Pcm, Stream};
use crate::{Length, SpeechFormat};

/// Measures a stream while it passes: it is given every piece in order, keeps at most 64 KiB of them,
/// and takes garbage without complaint. However a stream is cut into pieces, its length is the same.
#[derive(Debug)]
pub struct StreamMeter(Incremental);

impl StreamMeter {
    /// A meter at the start of a stream.
    #[must_use]
    pub fn new(format: SpeechFormat) -> Self {
        Self(Incremental::new(match format {
            SpeechFormat::Mp3 => Stream::Frames(Box::new(Frames::mpeg())),
            SpeechFormat::Opus => Stream::Ogg(Box::default()),
            SpeechFormat::Aac => Stream::Frames(Box::new(Frames::adts())),
            SpeechFormat::Flac => Stream::Flac(Box::default()),
            SpeechFormat::Wav => Stream::Wav(Box::default()),
            SpeechFormat::Pcm { rate } => Stream::Pcm(Pcm::new(rate)),
        }))
    }

    /// The next bytes of the stream.
    pub fn push(&mut self, piece: &[u8]) {
        self.0.push(piece);
    }

    /// How long the stream is if it ends here. None if nothing in it was sound of its format.
    #[must_use]
    pub fn length(&self) -> Option<Length> {
        self.0.finish().ok().map(|count| count.length)
    }
}
