//! Movies in fragments: their runs of samples, and the index that spares reading them.

use crate::byte_reader::ByteReader;
use crate::mp4::box_readers::{FragmentHeader, RunHeader};
use crate::visual::ProbeError;

use super::TOO_SHORT;
use super::movie::Movie;

/// The runs of one track in the fragment that is being read.
#[derive(Debug, Default)]
pub(super) struct Run {
    track: Option<u32>,
    default: Option<u32>,
    start: Option<u64>,
    length: u64,
    first_shift: Option<i64>,
}

/// The span of all fragments of a track so far, in its ticks. A gap between them plays too.
#[derive(Debug, Default)]
pub(super) struct FragmentSpan {
    /// Where the first one begins; the clock of a live recording does not begin at zero.
    first: Option<u64>,
    /// Where the last one ended.
    end: u64,
    latest: u64,
}

impl FragmentSpan {
    pub(super) fn length(&self) -> u64 {
        self.latest.saturating_sub(self.first.unwrap_or(0))
    }

    fn add(&mut self, start: Option<u64>, length: u64) -> Result<(), ProbeError> {
        let start = start.unwrap_or(self.end);
        self.end = start.checked_add(length).ok_or(ProbeError::TooLong)?;
        self.latest = self.latest.max(self.end);
        let first = self.first.unwrap_or(start);
        self.first = Some(first.min(start));
        Ok(())
    }
}

impl Movie {
    pub(super) fn begin_run(&mut self) {
        self.run = Run::default();
    }

    pub(super) fn tfhd(&mut self, bytes: &[u8]) -> Result<(), ProbeError> {
        let header = FragmentHeader::read(bytes).ok_or(TOO_SHORT)?;
        self.run.track = Some(header.id);
        self.run.default = header.duration.or(self.run.default);
        Ok(())
    }

    pub(super) const fn tfdt(&mut self, start: u64) {
        self.run.start = Some(start);
    }

    pub(super) fn trun(&mut self, bytes: &[u8]) -> Result<(), ProbeError> {
        let header = RunHeader::read(bytes).ok_or(TOO_SHORT)?;
        // Needed only if a sample does not have its own.
        let default = self.default_duration();
        if header.is_uniform() {
            return self.lengthen(u64::from(header.count).saturating_mul(default?));
        }
        let mut reader = ByteReader::new(bytes);
        let skipped = usize::try_from(header.header_bytes).unwrap_or(usize::MAX);
        reader.skip(skipped).ok_or(TOO_SHORT)?;
        for _ in 0..header.count {
            let sample = header.sample(&mut reader).ok_or(TOO_SHORT)?;
            let shift = sample.shift.map(i64::from);
            self.run.first_shift = self.run.first_shift.or(shift);
            match sample.duration {
                Some(duration) => self.lengthen(u64::from(duration))?,
                None => self.lengthen(default?)?,
            }
        }
        Ok(())
    }

    /// The end of the fragment's part of a track.
    pub(super) fn end_run(&mut self) -> Result<(), ProbeError> {
        let run = std::mem::take(&mut self.run);
        let id = run.track.ok_or(ProbeError::Malformed)?;
        let found = self.tracks.iter_mut().find(|track| track.id == id);
        let track = found.ok_or(ProbeError::Malformed)?;
        if let Some(shift) = run.first_shift.filter(|_| track.fragments.first.is_none()) {
            track.first_shift = shift;
        }
        // A run without a time goes on where the movie's own samples, or the last run, ended.
        track.fragments.add(run.start, run.length)
    }

    /// Takes over an index, and returns up to where it covers the file. `end` is where the index ends.
    pub(super) fn sidx(&mut self, bytes: &[u8], end: u64) -> Result<Option<u64>, ProbeError> {
        let index = Index::read(bytes).ok_or(TOO_SHORT)?;
        let Some(track) = self.tracks.iter_mut().find(|track| track.id == index.id) else {
            return Ok(None);
        };
        let scaled = u128::from(index.ticks).saturating_mul(u128::from(track.timescale()));
        let scaled = scaled.saturating_add(u128::from(index.timescale / 2));
        let ticks = scaled.checked_div(index.timescale.into());
        let ticks = u64::try_from(ticks.ok_or(ProbeError::Malformed)?);
        let ticks = ticks.map_err(|_| ProbeError::TooLong)?;
        let sum = track.indexed.checked_add(ticks);
        track.indexed = sum.ok_or(ProbeError::TooLong)?;
        let covered = end.checked_add(index.bytes);
        covered.ok_or(ProbeError::Malformed).map(Some)
    }

    fn lengthen(&mut self, by: u64) -> Result<(), ProbeError> {
        let length = self.run.length.checked_add(by);
        self.run.length = length.ok_or(ProbeError::TooLong)?;
        Ok(())
    }

    /// The duration of a sample that does not have its own.
    fn default_duration(&self) -> Result<u64, ProbeError> {
        let id = self.run.track.ok_or(ProbeError::Malformed)?;
        let of_track = self.defaults.iter().find(|defaults| defaults.id == id);
        let duration = self.run.default.or(of_track.map(|it| it.duration));
        duration.map(u64::from).ok_or(ProbeError::Malformed)
    }
}

/// An index of fragments (`sidx`).
struct Index {
    id: u32,
    timescale: u32,
    /// The duration of all its parts.
    ticks: u64,
    /// From its end to the end of its last part.
    bytes: u64,
}

impl Index {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let (version, _) = reader.version_and_flags()?;
        let (id, timescale) = (reader.u32()?, reader.u32()?);
        reader.u32_or_u64(version)?;
        let mut covered = reader.u32_or_u64(version)?;
        reader.skip(2)?;
        let count = reader.u16()?;
        let mut ticks: u64 = 0;
        for _ in 0..count {
            // The highest bit says whether it leads to another index; either way it has this length.
            let part = u64::from(reader.u32()? & i32::MAX.unsigned_abs());
            covered = covered.checked_add(part)?;
            ticks = ticks.saturating_add(u64::from(reader.u32()?));
            reader.skip(4)?;
        }
        Some(Self {
            id,
            timescale,
            ticks,
            bytes: covered,
        })
    }
}
