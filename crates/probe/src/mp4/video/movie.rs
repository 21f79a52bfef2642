//! A movie and its tracks, and how long they play.

use crate::mp4::box_readers::{Clock, Display, Edit, TrackDefaults};
use crate::visual::{Format, MAX_LENGTH_MS, MAX_TRACKS, MediaInfo, ProbeError, Size};

use super::fragments::{FragmentSpan, Run};

/// What is known of a movie so far.
#[derive(Debug, Default)]
pub(super) struct Movie {
    /// Ticks a second of edit lists and of the claimed duration.
    pub(super) timescale: u32,
    /// The duration with all fragments, as the header claims it; 0: no claim.
    pub(super) claimed: u64,
    pub(super) tracks: Vec<Track>,
    /// Defaults of tracks in fragments. That there is one says that there are fragments.
    pub(super) defaults: Vec<TrackDefaults>,
    pub(super) run: Run,
}

/// A track. Its durations are in its own ticks.
#[derive(Debug, Default)]
pub(super) struct Track {
    pub(super) id: u32,
    pub(super) handler: [u8; 4],
    pub(super) clock: Option<Clock>,
    /// The duration of its samples in the movie's own table.
    pub(super) samples: u64,
    /// How much later the first sample is shown than decoded.
    pub(super) first_shift: i64,
    pub(super) edits: Vec<Edit>,
    pub(super) coded: Option<Size>,
    pub(super) display: Option<Display>,
    pub(super) fragments: FragmentSpan,
    /// The duration of its fragments by an index.
    pub(super) indexed: u64,
}

impl Movie {
    pub(super) fn begin_track(&mut self) -> Result<(), ProbeError> {
        if self.tracks.len() >= MAX_TRACKS {
            return Err(ProbeError::TooManyParts);
        }
        self.tracks.push(Track::default());
        Ok(())
    }

    /// The track that is being read.
    pub(super) fn track(&mut self) -> Result<&mut Track, ProbeError> {
        self.tracks.last_mut().ok_or(ProbeError::Malformed)
    }

    pub(super) fn add_defaults(&mut self, defaults: TrackDefaults) -> Result<(), ProbeError> {
        if self.defaults.len() >= MAX_TRACKS {
            return Err(ProbeError::TooManyParts);
        }
        self.defaults.push(defaults);
        Ok(())
    }

    /// Whether its length is in the fragments that follow it.
    pub(super) const fn needs_fragments(&self) -> bool {
        !self.defaults.is_empty() && self.claimed == 0
    }

    pub(super) fn measure(&self, brand: Option<[u8; 4]>) -> Result<MediaInfo, ProbeError> {
        let mut length_ms: Option<u64> = None;
        let mut unedited_ms: Option<u64> = None;
        let mut size: Option<Size> = None;
        for track in self.tracks.iter().filter(|track| track.plays()) {
            let own = track.size().filter(|_| track.is_video());
            if own.map_or(0, Size::area) > size.map_or(0, Size::area) {
                size = own;
            }
            let media = track.media()?;
            if media == 0 {
                continue;
            }
            let unedited = millis(media.into(), track.timescale().into())?;
            unedited_ms = unedited_ms.max(Some(unedited));
            length_ms = length_ms.max(Some(track.played(media, self.timescale)?));
        }
        if self.claimed > 0 {
            let claimed = millis(self.claimed.into(), self.timescale.into())?;
            (length_ms, unedited_ms) = (Some(claimed), Some(claimed));
        }
        if length_ms.is_none() {
            return Err(ProbeError::NoLength);
        }
        let is_mov = brand.is_none_or(|brand| &brand == b"qt  ");
        Ok(MediaInfo {
            format: if is_mov { Format::Mov } else { Format::Mp4 },
            brand,
            length_ms,
            unedited_ms,
            size,
        })
    }
}

impl Track {
    /// Audio and video play; texts, chapters and time codes only go along.
    fn plays(&self) -> bool {
        self.is_video() || &self.handler == b"soun"
    }

    fn is_video(&self) -> bool {
        &self.handler == b"vide"
    }

    fn size(&self) -> Option<Size> {
        let displayed = self.display.and_then(|display| display.size);
        let size = self.coded.or(displayed)?;
        let is_rotated = self.display.is_some_and(|display| display.is_rotated);
        Some(if is_rotated { size.rotated() } else { size })
    }

    pub(super) fn timescale(&self) -> u32 {
        self.clock.map_or(0, |clock| clock.timescale)
    }

    /// The duration of all samples. The claim of the header holds for a track without a sample table.
    fn media(&self) -> Result<u64, ProbeError> {
        let parts = [self.samples, self.fragments.length(), self.indexed];
        let mut sum: u64 = 0;
        for part in parts {
            sum = sum.checked_add(part).ok_or(ProbeError::TooLong)?;
        }
        let claimed = self.clock.map_or(0, |clock| clock.duration);
        Ok(if sum == 0 { claimed } else { sum })
    }

    /// How much of its samples an edit cuts that begins there. Edits count in presentation time, samples
    /// in decode time; an index counts what is shown with its edits, so nothing is left to cut.
    fn cut_by(&self, from: u64) -> u64 {
        if self.indexed > 0 {
            return 0;
        }
        let shift = u64::try_from(self.first_shift).unwrap_or(0);
        from.saturating_sub(shift)
    }

    /// How long the track plays by its edit list.
    fn played(&self, media: u64, movie_timescale: u32) -> Result<u64, ProbeError> {
        let own = u128::from(self.timescale());
        if self.edits.is_empty() {
            return millis(media.into(), own);
        }
        // Both kinds of ticks, in parts of a second that both divide.
        let movie = u128::from(movie_timescale);
        let second = own.saturating_mul(movie);
        let mut sum: u128 = 0;
        for edit in &self.edits {
            let length = u128::from(edit.duration).saturating_mul(own);
            let part = match u64::try_from(edit.media_time) {
                // A pause, or a picture that stands still: as long as it says.
                Err(_) => length,
                Ok(_) if edit.rate == 0 => length,
                Ok(from) => {
                    let rest = media.saturating_sub(self.cut_by(from));
                    let rest = u128::from(rest).saturating_mul(movie);
                    if length == 0 { rest } else { length.min(rest) }
                }
            };
            sum = sum.saturating_add(part);
        }
        millis(sum, second)
    }
}

/// Ticks in milliseconds, rounded half up.
fn millis(ticks: u128, a_second: u128) -> Result<u64, ProbeError> {
    let half = a_second / 2;
    let whole = ticks.checked_mul(1000).ok_or(ProbeError::TooLong)?;
    let whole = whole.checked_add(half).ok_or(ProbeError::TooLong)?;
    let found = whole.checked_div(a_second).ok_or(ProbeError::Malformed)?;
    let found = u64::try_from(found).map_err(|_| ProbeError::TooLong)?;
    if found > MAX_LENGTH_MS {
        return Err(ProbeError::TooLong);
    }
    Ok(found)
}
