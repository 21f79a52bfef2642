//! One track: what it is, how its packets are counted, and what of them is no sound.

use crate::MeasureError;
use crate::bounded_reader::BoundedReader;
use crate::codecs::{Coding, Counter};
use crate::measurement::{Count, CountResult, MAX_AAC_PRIMING};
use crate::mp4::box_readers::{Clock, EditList, TrackHeader, handler};
use crate::mp4::box_walk::BoxHeader;

use super::sample_entry::SampleEntry;
use super::sample_tables::{MAX_PACKETS, SampleTables};

/// Most samples that an edit list may take away at the start. A list that hides more is a cut, and what is cut
/// was still sent.
const MAX_PRIMING: u64 = MAX_AAC_PRIMING;

#[derive(Debug, Default)]
pub(super) struct Track {
    pub(super) id: u32,
    pub(super) is_audio: bool,
    pub(super) tables: SampleTables,
    /// None: no description yet, or one whose packets cannot be counted.
    pub(super) counter: Option<Counter>,
    pub(super) default_ticks: u32,
    pub(super) default_size: u32,
    /// How long the last packet is to play, if the end of the track is there.
    pub(super) last_ticks: Option<u64>,
    /// Bytes of its packets, which cannot be more than the file has.
    pub(super) packet_bytes: u64,
    pub(super) packets: u64,
    visited: u64,
    /// Ticks a second.
    timescale: u32,
    /// Where the first edit begins, in ticks.
    edit_start: Option<u64>,
    /// Samples at the start that are no sound, as the codec says.
    pre_skip: u64,
}

impl Track {
    pub(super) fn read(&mut self, header: &BoxHeader, bytes: &[u8]) -> Option<()> {
        match &header.name {
            b"stsd" => {
                let SampleEntry { coding, pre_skip } = SampleEntry::read(bytes)?;
                self.counter = Some(Counter::new(coding));
                self.pre_skip = pre_skip;
            }
            // A second one says where the data lies; it takes nothing back.
            b"hdlr" => self.is_audio = self.is_audio || &handler(bytes)? == b"soun",
            b"elst" => self.edit_start = first_edit(bytes),
            b"tkhd" => self.id = TrackHeader::read(bytes)?.id,
            b"mdhd" => self.timescale = Clock::read(bytes)?.timescale,
            _ => {}
        }
        Some(())
    }

    /// The length of a track whose packets were counted.
    pub(super) fn measured(&self) -> CountResult {
        let counter = self.counter.as_ref().ok_or(MeasureError::TooComplex)?;
        let start = self.edit_start.and_then(|ticks| self.samples(ticks));
        let start = start.filter(|samples| *samples <= MAX_PRIMING).unwrap_or(0);
        let last = self.last_ticks.and_then(|ticks| self.samples(ticks));
        // Never the whole packet: one that plays for no time at all would not be there.
        let last = last.filter(|samples| *samples > 0);
        let end = last.map_or(0, |samples| counter.last().saturating_sub(samples));
        let start = start.max(self.pre_skip);
        let silent = start.saturating_add(end);
        let codec = counter.coding().codec();
        let count = Count::new(codec, counter.length_without(silent));
        Ok(match start {
            0 => count.without_declared_delay(counter.rate()),
            _ => count,
        })
    }

    /// Packets that are there. Honest ones do not lie upon each other, so they are not more than the
    /// file; without this bound a small file could name one packet a million times.
    pub(super) fn add(
        &mut self,
        source: &BoundedReader<'_>,
        packets: u64,
        bytes: u64,
    ) -> Result<(), MeasureError> {
        self.packets = self.packets.saturating_add(packets);
        self.packet_bytes = self.packet_bytes.saturating_add(bytes);
        if self.packet_bytes > source.bytes() {
            return Err(MeasureError::Broken);
        }
        // Of bare samples each is a packet.
        let coding = self.counter.as_ref().map(Counter::coding);
        let is_bare = matches!(coding, Some(Coding::Raw { .. }));
        if self.packets > MAX_PACKETS && !is_bare {
            return Err(MeasureError::TooComplex);
        }
        self.visited()
    }

    /// One more packet or chunk was visited, whether it is there or not.
    pub(super) fn visited(&mut self) -> Result<(), MeasureError> {
        self.visited = self.visited.saturating_add(1);
        if self.visited > MAX_PACKETS {
            return Err(MeasureError::TooComplex);
        }
        Ok(())
    }

    /// Ticks as samples, rounded up.
    fn samples(&self, ticks: u64) -> Option<u64> {
        let rate = self.counter.as_ref()?.rate()?;
        let samples = u128::from(ticks).checked_mul(u128::from(rate))?;
        let timescale = u128::from(self.timescale);
        if timescale == 0 {
            return None;
        }
        u64::try_from(samples.div_ceil(timescale)).ok()
    }
}

/// Where the first edit that is not empty begins.
fn first_edit(bytes: &[u8]) -> Option<u64> {
    let mut list = EditList::read(bytes)?;
    for _ in 0..list.count {
        if let Ok(start) = u64::try_from(list.next_edit()?.media_time) {
            return Some(start);
        }
    }
    None
}
