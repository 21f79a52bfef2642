//! The tables of a track: how large its packets are, how many there are in each chunk, and where the
//! chunks lie. They are read as they lie in the file, through a small buffer each, never as a whole.

use crate::MeasureError;
use crate::bounded_reader::{BoundedReader, ReadBuffer};
use crate::byte_reader::ByteReader;
use crate::codecs::{Coding, Counter};
use crate::mp4::box_walk::BoxHeader;

use super::track::Track;

/// Most packets of a track: fifty hours of AAC.
pub(super) const MAX_PACKETS: u64 = 10_000_000;
const RUN_BYTES: u64 = 12;

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct SampleTables {
    times: Table,
    runs: Table,
    sizes: Table,
    /// The size of every packet, if they are alike.
    even_size: u32,
    chunks: Table,
}

/// Entries of one width, one after the other.
#[derive(Debug, Default, Clone, Copy)]
struct Table {
    start: u64,
    count: u32,
    entry_bits: u64,
}

/// Chunks from a number on have so many packets.
#[derive(Debug, Clone, Copy)]
struct Run {
    first_chunk: u32,
    packets: u32,
}

impl SampleTables {
    pub(super) fn read(&mut self, header: &BoxHeader, bytes: &[u8]) -> Option<()> {
        let mut reader = ByteReader::new(bytes);
        reader.skip(4)?;
        let first = reader.u32()?;
        let start = header.body.saturating_add(8);
        let table = |entry_bytes: u64| Table {
            start,
            count: first,
            entry_bits: entry_bytes.saturating_mul(8),
        };
        match &header.name {
            b"stts" => self.times = table(8),
            b"stsc" => self.runs = table(RUN_BYTES),
            b"stco" => self.chunks = table(4),
            b"co64" => self.chunks = table(8),
            name => {
                let is_compact = name == b"stz2";
                self.even_size = if is_compact { 0 } else { first };
                self.sizes = Table {
                    start: start.saturating_add(4),
                    count: reader.u32()?,
                    entry_bits: if is_compact {
                        u64::from(first & 0xFF)
                    } else {
                        32
                    },
                };
            }
        }
        Some(())
    }
}

impl Table {
    /// The bytes of an entry; fewer where the file ends.
    fn entry<'a>(
        &self,
        source: &mut BoundedReader<'_>,
        buffer: &'a mut ReadBuffer,
        index: u32,
    ) -> Result<ByteReader<'a>, MeasureError> {
        let bits = u64::from(index).saturating_mul(self.entry_bits);
        let at = self.start.saturating_add(bits.div_euclid(8));
        let needed = usize::try_from(self.entry_bits.div_ceil(8)).unwrap_or(usize::MAX);
        buffer.at(source, at, needed).map(ByteReader::new)
    }
}

/// Counts the packets that the tables name and that are in the file.
pub(super) fn count(
    source: &mut BoundedReader<'_>,
    boxes: &mut ReadBuffer,
    packets: &mut ReadBuffer,
    track: &mut Track,
) -> Result<(), MeasureError> {
    let tables = track.tables;
    if tables.sizes.count == 0 || track.counter.is_none() {
        return Ok(());
    }
    let mut runs = ReadBuffer::default();
    let mut sizes = ReadBuffer::default();
    let mut run_index = 0;
    let mut run = read_run(source, &mut runs, &tables, run_index)?;
    let mut next_run = read_run(source, &mut runs, &tables, 1)?;
    let mut done = 0_u32;
    for chunk in 0..tables.chunks.count {
        while let Some(next) = next_run
            && next.first_chunk <= chunk.saturating_add(1)
        {
            if run.is_some_and(|run| run.first_chunk >= next.first_chunk) {
                return Err(MeasureError::Broken);
            }
            run = Some(next);
            run_index = u32::saturating_add(run_index, 1);
            next_run = read_run(source, &mut runs, &tables, run_index.saturating_add(1))?;
        }
        track.visited()?;
        let left = tables.sizes.count.saturating_sub(done);
        let in_chunk = run.map_or(0, |run| run.packets).min(left);
        let mut offset = tables.chunks.entry(source, boxes, chunk)?;
        let offset = if tables.chunks.entry_bits == 64 {
            offset.u64()
        } else {
            offset.u32().map(u64::from)
        };
        let Some(offset) = offset else {
            break;
        };
        let chunk = Chunk {
            offset,
            first: done,
            packets: in_chunk,
        };
        chunk.count(source, &mut sizes, packets, track)?;
        done = done.saturating_add(in_chunk);
        if left == 0 {
            break;
        }
    }
    let is_whole = track.packets == u64::from(tables.sizes.count);
    if is_whole && let Some(last) = tables.times.count.checked_sub(1) {
        let mut reader = tables.times.entry(source, boxes, last)?;
        if reader.u32().is_some_and(|count| count > 0) {
            track.last_ticks = reader.u32().map(u64::from);
        }
    }
    Ok(())
}

fn read_run(
    source: &mut BoundedReader<'_>,
    buffer: &mut ReadBuffer,
    tables: &SampleTables,
    index: u32,
) -> Result<Option<Run>, MeasureError> {
    if index >= tables.runs.count {
        return Ok(None);
    }
    let mut reader = tables.runs.entry(source, buffer, index)?;
    let (Some(first_chunk), Some(packets)) = (reader.u32(), reader.u32()) else {
        return Ok(None);
    };
    Ok(Some(Run {
        first_chunk,
        packets,
    }))
}

/// Packets that lie one behind the other.
struct Chunk {
    offset: u64,
    first: u32,
    packets: u32,
}

impl Chunk {
    fn count(
        &self,
        source: &mut BoundedReader<'_>,
        sizes: &mut ReadBuffer,
        packets: &mut ReadBuffer,
        track: &mut Track,
    ) -> Result<(), MeasureError> {
        let tables = track.tables;
        let Some(counter) = &mut track.counter else {
            return Ok(());
        };
        if tables.even_size > 0 && !counter.coding().needs_packet_bytes() {
            let (whole, bytes) = self.even(source, counter, tables.even_size);
            return track.add(source, whole, bytes);
        }
        let mut at = self.offset;
        for index in 0..self.packets {
            let index = self.first.saturating_add(index);
            let size = match tables.even_size {
                0 => read_size(source, sizes, &tables, index)?,
                size => Some(u64::from(size)),
            };
            let Some(size) = size else {
                break;
            };
            count_packet(source, packets, track, at, size)?;
            at = at.saturating_add(size);
        }
        Ok(())
    }

    /// Packets of one size whose bytes are not needed, all at once: how many are there, and their
    /// bytes.
    fn even(&self, source: &BoundedReader<'_>, counter: &mut Counter, size: u32) -> (u64, u64) {
        let there = source.bytes().saturating_sub(self.offset);
        let packets = u64::from(self.packets);
        let size = match counter.coding() {
            // QuickTime writes 1 where it means one sample.
            Coding::Raw { sample_bytes, .. } if size == 1 => *sample_bytes,
            Coding::Opus
            | Coding::Vorbis(_)
            | Coding::Flac(_)
            | Coding::Mpeg
            | Coding::Ac3
            | Coding::Alac { .. }
            | Coding::Fixed { .. }
            | Coding::Raw { .. } => u64::from(size),
        };
        let whole = packets.min(there.checked_div(size).unwrap_or(0));
        let bytes = whole.saturating_mul(size);
        counter.packets(whole, bytes);
        (whole, bytes)
    }
}

fn read_size(
    source: &mut BoundedReader<'_>,
    buffer: &mut ReadBuffer,
    tables: &SampleTables,
    index: u32,
) -> Result<Option<u64>, MeasureError> {
    let mut reader = tables.sizes.entry(source, buffer, index)?;
    Ok(match tables.sizes.entry_bits {
        4 => reader.u8().map(|both| {
            let half = if index & 1 == 0 {
                both >> 4
            } else {
                both & 0x0F
            };
            u64::from(half)
        }),
        8 => reader.u8().map(u64::from),
        16 => reader.u16().map(u64::from),
        32 => reader.u32().map(u64::from),
        _ => None,
    })
}

/// Counts a packet, if all of it is in the file.
pub(super) fn count_packet(
    source: &mut BoundedReader<'_>,
    buffer: &mut ReadBuffer,
    track: &mut Track,
    at: u64,
    size: u64,
) -> Result<bool, MeasureError> {
    let is_there = at
        .checked_add(size)
        .is_some_and(|end| end <= source.bytes());
    if !is_there {
        // It counts as visited, so that no table of nothing takes forever.
        track.visited()?;
        return Ok(false);
    }
    if let Some(counter) = &mut track.counter {
        counter.packet_at(source, buffer, at, size)?;
    }
    track.add(source, 1, size)?;
    Ok(true)
}
