//! Fragments: each has a list of its packets with it.

use crate::MeasureError;
use crate::bounded_reader::{BoundedReader, ReadBuffer};
use crate::byte_reader::ByteReader;
use crate::mp4::box_readers::{FragmentHeader, RunHeader};
use crate::mp4::box_walk::BoxHeader;

use super::sample_tables::count_packet;
use super::track::Track;

/// The fragment that is being read, and in it the track.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    start: u64,
    track: Option<usize>,
    base: u64,
    default_ticks: u32,
    default_size: u32,
    /// Where the next run's packets lie if it does not declare it.
    next: u64,
}

impl Fragment {
    pub(super) fn begin(&mut self, start: u64) {
        *self = Self {
            start,
            ..Self::default()
        };
    }

    pub(super) fn header(&mut self, bytes: &[u8], tracks: &[Track]) -> Option<()> {
        self.track = None;
        let header = FragmentHeader::read(bytes)?;
        let index = tracks.iter().position(|track| track.id == header.id)?;
        let track = tracks.get(index)?;
        self.base = header.base.unwrap_or(self.start);
        self.default_ticks = header.duration.unwrap_or(track.default_ticks);
        self.default_size = header.size.unwrap_or(track.default_size);
        self.next = self.base;
        self.track = Some(index);
        Some(())
    }

    /// Counts the packets of a run that are in the file.
    pub(super) fn run(
        &mut self,
        source: &mut BoundedReader<'_>,
        boxes: &mut ReadBuffer,
        packets: &mut ReadBuffer,
        header: &BoxHeader,
        tracks: &mut [Track],
    ) -> Result<(), MeasureError> {
        let track = self.track.and_then(|index| tracks.get_mut(index));
        let Some(track) = track.filter(|track| track.is_audio && track.counter.is_some()) else {
            return Ok(());
        };
        let bytes = boxes.at(source, header.body, RunHeader::MAX_BYTES)?;
        let Some(run) = RunHeader::read(bytes) else {
            return Ok(());
        };
        let start = match run.offset {
            Some(offset) => self.base.checked_add_signed(i64::from(offset)),
            None => Some(self.next),
        };
        let Some(mut at) = start else {
            return Ok(());
        };
        let run_end = header.end.unwrap_or(source.bytes());
        let mut entry = header.body.saturating_add(run.header_bytes);
        for _ in 0..run.count {
            let entry_end = entry.saturating_add(run.sample_bytes());
            let bytes = boxes.at(source, entry, RunHeader::MAX_BYTES)?;
            let sample = run.sample(&mut ByteReader::new(bytes));
            let Some(sample) = sample.filter(|_| entry_end <= run_end) else {
                break;
            };
            let size = u64::from(sample.size.unwrap_or(self.default_size));
            let ticks = u64::from(sample.duration.unwrap_or(self.default_ticks));
            let is_there = count_packet(source, packets, track, at, size)?;
            track.last_ticks = is_there.then_some(ticks);
            at = at.saturating_add(size);
            entry = entry_end;
        }
        self.next = at;
        Ok(())
    }
}
