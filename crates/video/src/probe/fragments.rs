//! Movies in fragments: their runs of samples, and the index that spares us from looking at them.

use super::Reason;
use super::fields::Fields;
use super::movie::Movie;

/// Flags of a fragment's header: what stands before the length of a sample, and that length itself.
const HAS_BASE: u32 = 0x1;
const HAS_DESCRIPTION: u32 = 0x2;
const HAS_DEFAULT: u32 = 0x8;
/// Flags of a run.
const HAS_OFFSET: u32 = 0x1;
const HAS_FIRST_FLAGS: u32 = 0x4;
const HAS_LENGTH: u32 = 0x100;
const HAS_SIZE: u32 = 0x200;
const HAS_FLAGS: u32 = 0x400;
const HAS_SHIFT: u32 = 0x800;

/// The runs of one track in the fragment that is being read.
#[derive(Debug, Default)]
pub(super) struct Run {
    track: Option<u32>,
    default: Option<u32>,
    start: Option<u64>,
    length: u64,
    first_shift: Option<i64>,
}

/// What all fragments so far say of a track, in its ticks.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// Where the first one begins; the clock of a live recording does not begin at nought.
    first: Option<u64>,
    /// Where the last one ended.
    end: u64,
    latest: u64,
}

/// What an index says of a track, in its ticks.
#[derive(Debug, Default)]
pub(super) struct Indexed {
    pub(super) length: u64,
}

impl Runs {
    pub(super) fn length(&self) -> u64 {
        self.latest.saturating_sub(self.first.unwrap_or(0))
    }

    fn add(&mut self, start: Option<u64>, length: u64) -> Result<(), Reason> {
        let start = start.unwrap_or(self.end);
        self.end = start.checked_add(length).ok_or(Reason::TooLong)?;
        self.latest = self.latest.max(self.end);
        // A gap between fragments plays too, so it is the span that counts.
        let first = self.first.unwrap_or(start);
        self.first = Some(first.min(start));
        Ok(())
    }
}

impl Movie {
    pub(super) fn begin_run(&mut self) {
        self.run = Run::default();
    }

    pub(super) fn tfhd(&mut self, mut fields: Fields<'_>) -> Result<(), Reason> {
        let (_, flags) = fields.version()?;
        self.run.track = Some(fields.u32()?);
        if flags & HAS_BASE != 0 {
            fields.skip(8)?;
        }
        if flags & HAS_DESCRIPTION != 0 {
            fields.skip(4)?;
        }
        if flags & HAS_DEFAULT != 0 {
            self.run.default = Some(fields.u32()?);
        }
        Ok(())
    }

    pub(super) fn tfdt(&mut self, mut fields: Fields<'_>) -> Result<(), Reason> {
        let (version, _) = fields.version()?;
        self.run.start = Some(fields.by_version(version)?);
        Ok(())
    }

    pub(super) fn trun(&mut self, mut fields: Fields<'_>) -> Result<(), Reason> {
        let (_, flags) = fields.version()?;
        let count = fields.u32()?;
        for (flag, bytes) in [(HAS_OFFSET, 4), (HAS_FIRST_FLAGS, 4)] {
            if flags & flag != 0 {
                fields.skip(bytes)?;
            }
        }
        // Needed only if a sample does not tell its own.
        let each = self.sample_length();
        let between: usize = [HAS_SIZE, HAS_FLAGS]
            .iter()
            .filter(|flag| flags & **flag != 0)
            .fold(0, |sum, _| sum.saturating_add(4));
        if flags & (HAS_LENGTH | HAS_SHIFT) == 0 {
            return self.lengthen(u64::from(count).saturating_mul(each?));
        }
        for _ in 0..count {
            let length = if flags & HAS_LENGTH == 0 {
                each?
            } else {
                u64::from(fields.u32()?)
            };
            fields.skip(between)?;
            if flags & HAS_SHIFT != 0 {
                let shift = i64::from(fields.i32()?);
                self.run.first_shift = self.run.first_shift.or(Some(shift));
            }
            self.lengthen(length)?;
        }
        Ok(())
    }

    /// The fragment's part of a track is behind us.
    pub(super) fn end_run(&mut self) -> Result<(), Reason> {
        let run = std::mem::take(&mut self.run);
        let id = run.track.ok_or(Reason::Malformed)?;
        let found = self.tracks.iter_mut().find(|track| track.id == id);
        let track = found.ok_or(Reason::Malformed)?;
        if let Some(shift) = run.first_shift.filter(|_| track.runs.first.is_none()) {
            track.first_shift = shift;
        }
        // A run without a time goes on where the movie's own samples, or the last run, ended.
        track.runs.add(run.start, run.length)
    }

    /// Takes over an index, and says up to where it covers the file. `end` is where the index ends.
    pub(super) fn sidx(&mut self, mut fields: Fields<'_>, end: u64) -> Result<Option<u64>, Reason> {
        let (version, _) = fields.version()?;
        let (id, timescale) = (fields.u32()?, fields.u32()?);
        fields.by_version(version)?;
        let first = fields.by_version(version)?;
        fields.skip(2)?;
        let count = fields.u16()?;
        let mut covered = end.checked_add(first).ok_or(Reason::Malformed)?;
        let mut ticks: u64 = 0;
        for _ in 0..count {
            // The highest bit says whether it leads to another index; either way it has this length.
            let bytes = u64::from(fields.u32()? & i32::MAX.unsigned_abs());
            covered = covered.checked_add(bytes).ok_or(Reason::Malformed)?;
            ticks = ticks.saturating_add(u64::from(fields.u32()?));
            fields.skip(4)?;
        }
        let Some(track) = self.tracks.iter_mut().find(|track| track.id == id) else {
            return Ok(None);
        };
        let own = u128::from(track.timescale);
        let scaled = u128::from(ticks).saturating_mul(own);
        let half = u128::from(timescale / 2);
        let scaled = scaled.saturating_add(half);
        let ticks = scaled.checked_div(timescale.into());
        let ticks = ticks.ok_or(Reason::Malformed)?;
        let ticks = u64::try_from(ticks).map_err(|_| Reason::TooLong)?;
        let sum = track.indexed.length.checked_add(ticks);
        track.indexed.length = sum.ok_or(Reason::TooLong)?;
        Ok(Some(covered))
    }

    fn lengthen(&mut self, by: u64) -> Result<(), Reason> {
        self.run.length = self.run.length.checked_add(by).ok_or(Reason::TooLong)?;
        Ok(())
    }

    /// The length of a sample that does not tell its own.
    fn sample_length(&self) -> Result<u64, Reason> {
        let id = self.run.track.ok_or(Reason::Malformed)?;
        let told = self.defaults.iter().find(|(known, _)| *known == id);
        let default = self.run.default.or(told.map(|(_, each)| *each));
        default.map(u64::from).ok_or(Reason::Malformed)
    }
}
