//! The boxes that hold numbers, one function each. What they mean together is the movie's business.

use super::boxes::Walk;
use super::fields::Fields;
use super::movie::{Edit, Track};
use super::{MAX_EDITS, MAX_NEED_BYTES, Reason, Size};

/// Boxes that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaf {
    Ftyp,
    Mvhd,
    Mehd,
    Trex,
    Tkhd,
    Elst,
    Mdhd,
    Hdlr,
    Stsd,
    Stts,
    Ctts,
    Tfhd,
    Tfdt,
    Trun,
    Sidx,
    Ispe,
}

impl Leaf {
    /// How much of it is of interest. Of tables all is, and one that is too large is refused.
    pub(super) const fn most_bytes(self) -> u64 {
        match self {
            Self::Ftyp => 4,
            Self::Hdlr => 12,
            Self::Ctts => 16,
            Self::Stsd => 44,
            Self::Mvhd | Self::Mehd | Self::Trex | Self::Tkhd | Self::Mdhd => 128,
            Self::Tfhd | Self::Tfdt | Self::Ispe => 64,
            // One more than may be, so that it is told from one that fits.
            Self::Elst | Self::Stts | Self::Trun | Self::Sidx => MAX_NEED_BYTES.saturating_add(1),
        }
    }
}

/// Takes over what a box says; `end` is where it ends in the file.
pub(super) fn read_leaf(walk: &mut Walk, leaf: Leaf, bytes: &[u8], end: u64) -> Result<(), Reason> {
    let fields = Fields::new(bytes);
    let movie = &mut walk.movie;
    match leaf {
        Leaf::Ftyp => walk.brand = Some(fields.clone().bytes()?),
        Leaf::Mvhd => (movie.timescale, _) = clock(fields)?,
        Leaf::Mehd => movie.told = mehd(fields)?,
        Leaf::Trex => {
            let (id, length) = trex(fields)?;
            movie.add_default(id, length)?;
        }
        Leaf::Tkhd => tkhd(fields, movie.track()?)?,
        Leaf::Elst => movie.track()?.edits = elst(fields)?,
        Leaf::Mdhd => {
            let track = movie.track()?;
            (track.timescale, track.claimed) = clock(fields)?;
        }
        Leaf::Hdlr => {
            let mut fields = fields;
            fields.skip(8)?;
            movie.track()?.handler = fields.bytes()?;
        }
        Leaf::Stsd => movie.track()?.coded = stsd(fields),
        Leaf::Stts => movie.track()?.samples = stts(fields)?,
        Leaf::Ctts => movie.track()?.first_shift = ctts(fields)?,
        Leaf::Tfhd => movie.tfhd(fields)?,
        Leaf::Tfdt => movie.tfdt(fields)?,
        Leaf::Trun => movie.trun(fields)?,
        Leaf::Sidx => {
            if let Some(covered) = movie.sidx(fields, end)? {
                walk.indexed_to = walk.indexed_to.max(covered);
            }
        }
        Leaf::Ispe => {
            let mut fields = fields;
            fields.version()?;
            let size = Size::new(fields.u32()?, fields.u32()?);
            // A picture of tiles tells the size of a tile as well.
            let area = |size: Option<Size>| size.map_or(0, Size::area);
            if area(size) > area(walk.picture) {
                walk.picture = size;
            }
        }
    }
    Ok(())
}

/// Ticks a second and a length, as the headers of a movie and of a medium begin.
fn clock(mut fields: Fields<'_>) -> Result<(u32, u64), Reason> {
    let (version, _) = fields.version()?;
    fields.by_version(version)?;
    fields.by_version(version)?;
    let timescale = fields.u32()?;
    let length = fields.by_version(version)?;
    let is_unknown = length == u64::MAX || (version == 0 && length == u64::from(u32::MAX));
    Ok((timescale, if is_unknown { 0 } else { length }))
}

fn mehd(mut fields: Fields<'_>) -> Result<u64, Reason> {
    let (version, _) = fields.version()?;
    fields.by_version(version)
}

fn trex(mut fields: Fields<'_>) -> Result<(u32, u32), Reason> {
    fields.version()?;
    let id = fields.u32()?;
    fields.skip(4)?;
    Ok((id, fields.u32()?))
}

fn tkhd(mut fields: Fields<'_>, track: &mut Track) -> Result<(), Reason> {
    let (version, _) = fields.version()?;
    fields.by_version(version)?;
    fields.by_version(version)?;
    track.id = fields.u32()?;
    fields.skip(4)?;
    fields.by_version(version)?;
    fields.skip(16)?;
    let mut matrix = [0; 9];
    for cell in &mut matrix {
        *cell = fields.i32()?;
    }
    let [a, b, _, c, d, ..] = matrix;
    // A quarter turn, to the left or to the right, mirrored or not.
    track.is_turned = a == 0 && d == 0 && b != 0 && c != 0;
    // 16 bits before the point and 16 behind it.
    track.shown = Size::new(fields.u32()? >> 16, fields.u32()? >> 16);
    Ok(())
}

fn elst(mut fields: Fields<'_>) -> Result<Vec<Edit>, Reason> {
    let (version, _) = fields.version()?;
    let count = usize::try_from(fields.u32()?).map_err(|_| Reason::TooManyParts)?;
    if count > MAX_EDITS {
        return Err(Reason::TooManyParts);
    }
    let mut edits = Vec::new();
    for _ in 0..count {
        let length = fields.by_version(version)?;
        let from = if version == 1 {
            i64::from_be_bytes(fields.bytes()?)
        } else {
            i64::from(fields.i32()?)
        };
        let rate = fields.i32()?;
        edits.push(Edit { length, from, rate });
    }
    Ok(edits)
}

/// The size in the first description of a picture; none if it describes something else.
fn stsd(mut fields: Fields<'_>) -> Option<Size> {
    fields.skip(40).ok()?;
    let (width, height) = (fields.u16().ok()?, fields.u16().ok()?);
    Size::new(width.into(), height.into())
}

/// The length of all samples.
fn stts(mut fields: Fields<'_>) -> Result<u64, Reason> {
    fields.version()?;
    let count = fields.u32()?;
    let mut sum: u64 = 0;
    for _ in 0..count {
        let (samples, each) = (u64::from(fields.u32()?), u64::from(fields.u32()?));
        let length = samples.saturating_mul(each);
        sum = sum.checked_add(length).ok_or(Reason::TooLong)?;
    }
    Ok(sum)
}

/// How much later than it is decoded the first sample is shown.
fn ctts(mut fields: Fields<'_>) -> Result<i64, Reason> {
    fields.version()?;
    if fields.u32()? == 0 {
        return Ok(0);
    }
    fields.skip(4)?;
    // Version 0 says that it is unsigned, and writers put negative numbers there all the same.
    fields.i32().map(i64::from)
}
