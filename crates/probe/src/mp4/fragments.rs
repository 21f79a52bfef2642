//! Fragments: each has a list of its packets with it.

use crate::MeasureError;
use crate::bounded_reader::{BoundedReader, ReadBuffer};
use crate::byte_reader::ByteReader;

use super::boxes::Header;
use super::tables::count_packet;
use super::track::Track;

/// Flags of a fragment's header.
const HAS_BASE: u32 = 0x1;
const HAS_DESCRIPTION: u32 = 0x2;
const HAS_TICKS: u32 = 0x8;
const HAS_SIZE: u32 = 0x10;
/// Flags of a run.
const HAS_OFFSET: u32 = 0x1;
const HAS_FIRST_FLAGS: u32 = 0x4;
const RUN_HAS_TICKS: u32 = 0x100;
const RUN_HAS_SIZE: u32 = 0x200;
const RUN_HAS_FLAGS: u32 = 0x400;
const RUN_HAS_SHIFT: u32 = 0x800;
/// The header of a run at its longest.
const RUN_HEADER_BYTES: usize = 16;
/// An entry of a run at its longest.
const MAX_ENTRY_BYTES: usize = 16;

/// The fragment that is being read, and in it the track.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    start: u64,
    track: Option<usize>,
    base: u64,
    default_ticks: u32,
    default_size: u32,
    /// Where the next run's packets lie if it does not say so.
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
        let mut reader = ByteReader::new(bytes);
        let flags = reader.u32()?;
        let id = reader.u32()?;
        let index = tracks.iter().position(|track| track.id == id)?;
        let track = tracks.get(index)?;
        self.base = self.start;
        if flags & HAS_BASE != 0 {
            self.base = reader.u64()?;
        }
        if flags & HAS_DESCRIPTION != 0 {
            reader.skip(4)?;
        }
        self.default_ticks = track.default_ticks;
        if flags & HAS_TICKS != 0 {
            self.default_ticks = reader.u32()?;
        }
        self.default_size = track.default_size;
        if flags & HAS_SIZE != 0 {
            self.default_size = reader.u32()?;
        }
        self.next = self.base;
        self.track = Some(index);
        Some(())
    }

    pub(super) fn run(
        &mut self,
        source: &mut BoundedReader<'_>,
        boxes: &mut ReadBuffer,
        packets: &mut ReadBuffer,
        header: &Header,
        tracks: &mut [Track],
    ) -> Result<(), MeasureError> {
        let track = self.track.and_then(|index| tracks.get_mut(index));
        let Some(track) = track.filter(|track| track.is_audio && track.counter.is_some()) else {
            return Ok(());
        };
        let Some(run) = self.read_run(boxes.at(source, header.body, RUN_HEADER_BYTES)?) else {
            return Ok(());
        };
        let mut entry = header.body.saturating_add(run.header_bytes);
        let mut at = run.offset;
        for _ in 0..run.count {
            let is_inside = entry.saturating_add(run.entry_bytes()) <= header.end;
            if !is_inside {
                break;
            }
            let bytes = boxes.at(source, entry, MAX_ENTRY_BYTES)?;
            let (ticks, size) = self.read_entry(run.flags, bytes);
            let is_there = count_packet(source, packets, track, at, u64::from(size))?;
            track.last_ticks = is_there.then_some(u64::from(ticks));
            at = at.saturating_add(u64::from(size));
            entry = entry.saturating_add(run.entry_bytes());
        }
        self.next = at;
        Ok(())
    }

    fn read_run(&self, bytes: &[u8]) -> Option<Run> {
        let mut reader = ByteReader::new(bytes);
        let flags = reader.u32()?;
        let count = reader.u32()?;
        let mut offset = self.next;
        let mut header_bytes = 8_u64;
        if flags & HAS_OFFSET != 0 {
            let shift = i64::from(i32::from_be_bytes(reader.bytes()?));
            offset = self.base.checked_add_signed(shift)?;
            header_bytes = header_bytes.saturating_add(4);
        }
        if flags & HAS_FIRST_FLAGS != 0 {
            header_bytes = header_bytes.saturating_add(4);
        }
        Some(Run {
            flags,
            count,
            offset,
            header_bytes,
        })
    }

    fn read_entry(&self, flags: u32, bytes: &[u8]) -> (u32, u32) {
        let mut reader = ByteReader::new(bytes);
        let mut next = |flag: u32, default: u32| {
            if flags & flag == 0 {
                default
            } else {
                reader.u32().unwrap_or(0)
            }
        };
        let ticks = next(RUN_HAS_TICKS, self.default_ticks);
        let size = next(RUN_HAS_SIZE, self.default_size);
        (ticks, size)
    }
}

/// Packets that lie one behind the other.
struct Run {
    flags: u32,
    count: u32,
    offset: u64,
    header_bytes: u64,
}

impl Run {
    fn entry_bytes(&self) -> u64 {
        let flags = [RUN_HAS_TICKS, RUN_HAS_SIZE, RUN_HAS_FLAGS, RUN_HAS_SHIFT];
        let there = flags.iter().filter(|flag| self.flags & **flag != 0).count();
        u64::try_from(there).unwrap_or(0).saturating_mul(4)
    }
}
