//! A movie and its tracks, and how long they play.

use super::fragments::{Indexed, Run, Runs};
use super::{Format, MAX_LENGTH_MS, MAX_TRACKS, Measured, Reason, Size};

/// What is known of a movie so far.
#[derive(Debug, Default)]
pub(super) struct Movie {
    /// Ticks a second of edit lists and of the length that is told.
    pub(super) timescale: u32,
    /// The length with all fragments, as the header tells it; 0 for not told.
    pub(super) told: u64,
    pub(super) tracks: Vec<Track>,
    /// The length of a sample, by the id of its track. That there is one says that there are fragments.
    pub(super) defaults: Vec<(u32, u32)>,
    pub(super) run: Run,
}

/// A track.
#[derive(Debug, Default)]
pub(super) struct Track {
    pub(super) id: u32,
    pub(super) handler: [u8; 4],
    /// Ticks a second.
    pub(super) timescale: u32,
    /// The length that its header claims, for a track without a table of samples.
    pub(super) claimed: u64,
    /// The length of its samples in the movie's own table.
    pub(super) samples: u64,
    /// How much later the first sample is shown than decoded.
    pub(super) first_shift: i64,
    pub(super) edits: Vec<Edit>,
    pub(super) coded: Option<Size>,
    pub(super) shown: Option<Size>,
    pub(super) is_turned: bool,
    pub(super) runs: Runs,
    pub(super) indexed: Indexed,
}

/// A line of an edit list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edit {
    /// In the movie's ticks; 0 for all the rest.
    pub(super) length: u64,
    /// Where it begins in the track's ticks; below 0 for a pause.
    pub(super) from: i64,
    /// 0 for a picture that stands still.
    pub(super) rate: i32,
}

impl Movie {
    pub(super) fn begin_track(&mut self) -> Result<(), Reason> {
        if self.tracks.len() >= MAX_TRACKS {
            return Err(Reason::TooManyParts);
        }
        self.tracks.push(Track::default());
        Ok(())
    }

    /// The track that is being read.
    pub(super) fn track(&mut self) -> Result<&mut Track, Reason> {
        self.tracks.last_mut().ok_or(Reason::Malformed)
    }

    pub(super) fn add_default(&mut self, id: u32, length: u32) -> Result<(), Reason> {
        if self.defaults.len() >= MAX_TRACKS {
            return Err(Reason::TooManyParts);
        }
        self.defaults.push((id, length));
        Ok(())
    }

    /// Whether its length is told by what follows it.
    pub(super) const fn needs_fragments(&self) -> bool {
        !self.defaults.is_empty() && self.told == 0
    }

    pub(super) fn measure(&self, brand: Option<[u8; 4]>) -> Result<Measured, Reason> {
        let mut length_ms: Option<u64> = None;
        let mut unedited_ms: Option<u64> = None;
        let mut size: Option<Size> = None;
        for track in self.tracks.iter().filter(|track| track.plays()) {
            let own = track.size().filter(|_| track.is_seen());
            if own.map_or(0, Size::area) > size.map_or(0, Size::area) {
                size = own;
            }
            let media = track.media()?;
            if media == 0 {
                continue;
            }
            let unedited = millis(media.into(), track.timescale.into())?;
            unedited_ms = unedited_ms.max(Some(unedited));
            length_ms = length_ms.max(Some(track.played(media, self.timescale)?));
        }
        if self.told > 0 {
            let told = millis(self.told.into(), self.timescale.into())?;
            (length_ms, unedited_ms) = (Some(told), Some(told));
        }
        if length_ms.is_none() {
            return Err(Reason::NoLength);
        }
        let is_mov = brand.is_none_or(|brand| &brand == b"qt  ");
        Ok(Measured {
            format: if is_mov { Format::Mov } else { Format::Mp4 },
            brand,
            length_ms,
            unedited_ms,
            size,
        })
    }
}

impl Track {
    /// Sound and pictures play; texts, chapters and time codes only go along.
    fn plays(&self) -> bool {
        self.is_seen() || &self.handler == b"soun"
    }

    fn is_seen(&self) -> bool {
        &self.handler == b"vide"
    }

    fn size(&self) -> Option<Size> {
        let size = self.coded.or(self.shown)?;
        Some(if self.is_turned { size.turned() } else { size })
    }

    /// The length of all samples, in the track's ticks.
    fn media(&self) -> Result<u64, Reason> {
        let later = self.runs.length().checked_add(self.indexed.length);
        let later = later.ok_or(Reason::TooLong)?;
        let sum = self.samples.checked_add(later).ok_or(Reason::TooLong)?;
        Ok(if sum == 0 { self.claimed } else { sum })
    }

    /// How much of its samples an edit cuts that begins there. Edits count in times of showing, samples
    /// in times of decoding; an index counts what is shown with its edits, so nothing is left to cut.
    fn cut_by(&self, from: u64) -> u64 {
        if self.indexed.length > 0 {
            return 0;
        }
        let shift = u64::try_from(self.first_shift).unwrap_or(0);
        from.saturating_sub(shift)
    }

    /// How long the track plays by its edit list.
    fn played(&self, media: u64, movie_timescale: u32) -> Result<u64, Reason> {
        let own = u128::from(self.timescale);
        if self.edits.is_empty() {
            return millis(media.into(), own);
        }
        // Both kinds of ticks, in parts of a second that both divide.
        let movie = u128::from(movie_timescale);
        let second = own.saturating_mul(movie);
        let mut sum: u128 = 0;
        for edit in &self.edits {
            let asked = u128::from(edit.length).saturating_mul(own);
            let part = match u64::try_from(edit.from) {
                // A pause, or a picture that stands still: as long as it says.
                Err(_) => asked,
                Ok(_) if edit.rate == 0 => asked,
                Ok(from) => {
                    let rest = media.saturating_sub(self.cut_by(from));
                    let rest = u128::from(rest).saturating_mul(movie);
                    if asked == 0 { rest } else { asked.min(rest) }
                }
            };
            sum = sum.saturating_add(part);
        }
        millis(sum, second)
    }
}

/// Ticks in milliseconds, half up.
pub(super) fn millis(ticks: u128, a_second: u128) -> Result<u64, Reason> {
    let half = a_second / 2;
    let whole = ticks.checked_mul(1000).ok_or(Reason::TooLong)?;
    let whole = whole.checked_add(half).ok_or(Reason::TooLong)?;
    let found = whole.checked_div(a_second).ok_or(Reason::Malformed)?;
    let found = u64::try_from(found).map_err(|_| Reason::TooLong)?;
    if found > MAX_LENGTH_MS {
        return Err(Reason::TooLong);
    }
    Ok(found)
}
