//! Blocks: one packet, or several that are laced together.

use crate::MeasureError;
use crate::bounded_reader::{BoundedReader, ReadBuffer};

use super::element::{signed_vint, vint};
use super::track::Track;

/// The number of a track, a time, flags and the count of packets.
pub(super) const MAX_HEADER_BYTES: usize = 12;
/// 256 sizes of packets: of eight bytes, or of many where they are written by 255.
const MAX_SIZES_BYTES: usize = 4096;
const TIME_BYTES: usize = 2;

/// The header of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) track: u64,
    lacing: Lacing,
    packets: u64,
    header_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lacing {
    None,
    /// Sizes by 255.
    Xiph,
    Even,
    Ebml,
}

impl Block {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (track, track_bytes) = vint(bytes)?;
        let at = track_bytes.checked_add(TIME_BYTES)?;
        let flags = *bytes.get(at)?;
        let lacing = match flags & 0x06 {
            0 => Lacing::None,
            2 => Lacing::Xiph,
            4 => Lacing::Even,
            _ => Lacing::Ebml,
        };
        let mut header_bytes = u64::try_from(at).ok()?.checked_add(1)?;
        let mut packets = 1;
        if lacing != Lacing::None {
            packets = u64::from(*bytes.get(at.checked_add(1)?)?).checked_add(1)?;
            header_bytes = header_bytes.checked_add(1)?;
        }
        Some(Self {
            track,
            lacing,
            packets,
            header_bytes,
        })
    }

    /// The sizes of all packets, and where the first one begins behind them.
    fn sizes(&self, bytes: &[u8], whole: u64) -> Option<(Vec<u64>, u64)> {
        let mut sizes = Vec::new();
        let mut at = 0_usize;
        let mut last = 0_u64;
        match self.lacing {
            Lacing::None => return Some((vec![whole], 0)),
            Lacing::Even => {
                let size = whole.checked_div(self.packets)?;
                let count = usize::try_from(self.packets).ok()?;
                return Some((vec![size; count], 0));
            }
            Lacing::Xiph | Lacing::Ebml => {}
        }
        for index in 1..self.packets {
            let rest = bytes.get(at..)?;
            let (size, count) = match (self.lacing, index) {
                (Lacing::Xiph, _) => xiph_size(rest)?,
                (_, 1) => vint(rest)?,
                (_, _) => {
                    let (change, count) = signed_vint(rest)?;
                    (last.checked_add_signed(change)?, count)
                }
            };
            sizes.push(size);
            last = size;
            at = at.checked_add(count)?;
        }
        let skipped = u64::try_from(at).ok()?;
        let before = sizes
            .iter()
            .try_fold(skipped, |sum, size| sum.checked_add(*size))?;
        sizes.push(whole.checked_sub(before)?);
        Some((sizes, skipped))
    }
}

/// Counts the packets of a block that lies between these places.
pub(super) fn count(
    source: &mut BoundedReader<'_>,
    buffer: &mut ReadBuffer,
    track: &mut Track,
    block: &Block,
    body: u64,
    end: u64,
) -> Result<(), MeasureError> {
    let start = body.saturating_add(block.header_bytes);
    let Some(whole) = end.checked_sub(start) else {
        return Ok(());
    };
    let Some(counter) = track.counter() else {
        return Ok(());
    };
    let most = usize::try_from(whole)
        .unwrap_or(MAX_SIZES_BYTES)
        .min(MAX_SIZES_BYTES);
    let bytes = match block.lacing {
        Lacing::None | Lacing::Even => &[],
        Lacing::Xiph | Lacing::Ebml => buffer.at(source, start, most)?,
    };
    // Sizes that are more than the block are nothing that a player could take apart.
    let Some((sizes, skipped)) = block.sizes(bytes, whole) else {
        return Ok(());
    };
    let mut at = start.saturating_add(skipped);
    for size in sizes {
        counter.packet_at(source, buffer, at, size)?;
        at = at.saturating_add(size);
    }
    Ok(())
}

/// A size as a sum: bytes of 255, and a smaller one.
fn xiph_size(bytes: &[u8]) -> Option<(u64, usize)> {
    let full = bytes.iter().take_while(|byte| **byte == 255).count();
    let last = u64::from(*bytes.get(full)?);
    let sum = u64::try_from(full)
        .ok()?
        .checked_mul(255)?
        .checked_add(last)?;
    Some((sum, full.checked_add(1)?))
}
