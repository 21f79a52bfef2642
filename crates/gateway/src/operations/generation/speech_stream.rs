//! Audio as it comes from a vendor: bytes, events with bytes in them, or a link inside an answer.

use bytes::Bytes;
use trunkline_generation::VendorFailure;
use trunkline_generation::speech::{AudioChunk, StreamMode};
use trunkline_generation::vendor_http::VendorError;
use trunkline_types::AccountId;
use trunkline_upstream::safe_fetch::{FetchRequest, FetchResponse};
use trunkline_upstream::{BodyError, SendError, UpstreamResponse};
use trunkline_wire::Frames;

use crate::operations::chat::next_frame;
use crate::services::Services;
use crate::vendors::BufferedResponse;

/// What one event says.
type ReadEvent = fn(&[u8]) -> Result<AudioChunk, VendorFailure>;

pub(super) struct SpeechStream {
    /// Whose share of the fetches a link takes.
    account: AccountId,
    source: Source,
    is_over: bool,
}

enum Source {
    Bytes(Box<UpstreamResponse>),
    Events {
        answer: Box<UpstreamResponse>,
        frames: Frames,
        read: ReadEvent,
    },
    Linked(Box<FetchResponse>),
    Held(Bytes),
}

/// Why it stopped before its end.
pub(super) enum SpeechError {
    Vendor(VendorFailure),
    /// It stopped in the middle.
    Body(BodyError),
    /// It never began.
    Unsent(SendError),
}

impl From<BodyError> for SpeechError {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}

impl SpeechError {
    /// The error after which another channel may be tried; the vendor's own failure otherwise.
    pub(super) fn lost(self) -> Result<SendError, VendorFailure> {
        match self {
            Self::Vendor(failure) => Err(failure),
            Self::Unsent(error) => Ok(error),
            Self::Body(BodyError::Stalled) => Ok(SendError::Silent),
            Self::Body(error @ (BodyError::Broken(_) | BodyError::TooLarge(_))) => {
                Ok(SendError::Broken(error.to_string()))
            }
        }
    }
}

// === impl SpeechStream ===

impl SpeechStream {
    /// The audio of an answer that is a success so far.
    pub(super) async fn open(
        services: &Services,
        account: AccountId,
        answer: UpstreamResponse,
        manner: StreamMode,
    ) -> Result<Self, SpeechError> {
        let source = match manner {
            StreamMode::Bytes => Source::Bytes(Box::new(answer)),
            StreamMode::Events(read) => Source::Events {
                answer: Box::new(answer),
                frames: Frames::default(),
                read,
            },
            StreamMode::Whole(read) => {
                let most = services.settings.max_answer_bytes;
                let response = BufferedResponse::read(answer, most).await;
                let response = response.map_err(|error| BodyError::Broken(error.to_string()))?;
                match read(&response.as_vendor_response()).map_err(SpeechError::Vendor)? {
                    AudioChunk::Audio(bytes) | AudioChunk::Last(bytes) => Source::Held(bytes),
                    AudioChunk::Link(link) => linked(services, account, &link).await?,
                    AudioChunk::Nothing | AudioChunk::Done => return Err(silent()),
                }
            }
        };
        Ok(Self {
            account,
            source,
            is_over: false,
        })
    }

    /// The next piece, never an empty one; none when all was said.
    pub(super) async fn next(&mut self, services: &Services) -> Result<Option<Bytes>, SpeechError> {
        loop {
            if self.is_over {
                return Ok(None);
            }
            let piece = match &mut self.source {
                Source::Bytes(answer) => answer.piece().await?,
                Source::Linked(answer) => {
                    let piece = answer.piece().await;
                    piece.map_err(|error| BodyError::Broken(error.to_string()))?
                }
                Source::Held(bytes) => Some(std::mem::take(bytes)).filter(|held| !held.is_empty()),
                Source::Events {
                    answer,
                    frames,
                    read,
                } => {
                    let Some(frame) = next_frame(answer, frames).await? else {
                        // An end that the vendor did not announce may be a cut.
                        let text = "the events ended before the audio did";
                        return Err(BodyError::Broken(text.to_owned()).into());
                    };
                    let Some(data) = frame.data else { continue };
                    match read(&data).map_err(SpeechError::Vendor)? {
                        AudioChunk::Audio(bytes) => Some(bytes),
                        AudioChunk::Last(bytes) => {
                            self.is_over = true;
                            Some(bytes)
                        }
                        AudioChunk::Link(link) => {
                            self.source = linked(services, self.account, &link).await?;
                            continue;
                        }
                        AudioChunk::Nothing => continue,
                        AudioChunk::Done => None,
                    }
                }
            };
            match piece {
                Some(piece) if piece.is_empty() => {}
                Some(piece) => return Ok(Some(piece)),
                None => self.is_over = true,
            }
        }
    }
}

async fn linked(
    services: &Services,
    account: AccountId,
    link: &str,
) -> Result<Source, SpeechError> {
    let settings = &services.settings;
    let ask = FetchRequest {
        range: None,
        max_bytes: settings.max_file_bytes,
        within: settings.whole_wait,
    };
    let broken = |text: String| SpeechError::from(BodyError::Broken(text));
    let answer = services.fetcher.of(account.number()).get(link, ask).await;
    let answer = answer.map_err(|error| broken(error.to_string()))?;
    if !answer.status.is_success() {
        return Err(broken(format!("its link answers {}", answer.status)));
    }
    Ok(Source::Linked(Box::new(answer)))
}

fn silent() -> SpeechError {
    let vendor_error = VendorError::new(502, "", "the answer holds no audio");
    SpeechError::Vendor(VendorFailure::Failed(vendor_error))
}
