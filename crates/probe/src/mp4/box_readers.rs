//! The contents of boxes that both users read, one function or type each. None: the box is too short.

use crate::byte_reader::ByteReader;
use crate::visual::Size;

/// Flags of a fragment's header (`tfhd`).
const HAS_BASE: u32 = 0x1;
const HAS_DESCRIPTION: u32 = 0x2;
const HAS_DEFAULT_DURATION: u32 = 0x8;
const HAS_DEFAULT_SIZE: u32 = 0x10;
/// Flags of a run (`trun`).
const HAS_OFFSET: u32 = 0x1;
const HAS_FIRST_FLAGS: u32 = 0x4;
const HAS_DURATION: u32 = 0x100;
const HAS_SIZE: u32 = 0x200;
const HAS_FLAGS: u32 = 0x400;
const HAS_SHIFT: u32 = 0x800;

/// The time scale of a movie (`mvhd`) or a track (`mdhd`), and the duration that its header claims.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// Ticks a second.
    pub(super) timescale: u32,
    /// 0: unknown.
    pub(super) duration: u64,
}

/// A track header (`tkhd`).
#[derive(Debug, Clone, Copy)]
pub(super) struct TrackHeader {
    pub(super) id: u32,
    pub(super) display: Option<Display>,
}

/// How a track is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Display {
    pub(super) size: Option<Size>,
    /// By a quarter turn, to the left or to the right, mirrored or not.
    pub(super) is_rotated: bool,
}

/// An edit list (`elst`), read entry by entry.
#[derive(Debug)]
pub(super) struct EditList<'a> {
    pub(super) count: u32,
    version: u8,
    reader: ByteReader<'a>,
}

/// An entry of an edit list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edit {
    /// In the movie's ticks; 0 for all the rest.
    pub(super) duration: u64,
    /// Where it begins in the track's ticks; below 0 for an empty edit, which is a pause.
    pub(super) media_time: i64,
    /// 0 for a picture that stands still.
    pub(super) rate: i32,
}

/// Values for samples of fragments that do not have their own (`trex`).
#[derive(Debug, Clone, Copy)]
pub(super) struct TrackDefaults {
    pub(super) id: u32,
    pub(super) duration: u32,
    pub(super) size: u32,
}

/// The header of a track's part of a fragment (`tfhd`).
#[derive(Debug, Clone, Copy)]
pub(super) struct FragmentHeader {
    pub(super) id: u32,
    pub(super) base: Option<u64>,
    pub(super) duration: Option<u32>,
    pub(super) size: Option<u32>,
}

/// The header of a run of samples (`trun`).
#[derive(Debug, Clone, Copy)]
pub(super) struct RunHeader {
    flags: u32,
    pub(super) count: u32,
    pub(super) offset: Option<i32>,
    pub(super) header_bytes: u64,
}

/// One sample of a run; none where the defaults hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunSample {
    pub(super) duration: Option<u32>,
    pub(super) size: Option<u32>,
    /// How much later it is shown than decoded.
    pub(super) shift: Option<i32>,
}

/// The kind of a track (`hdlr`).
pub(super) fn handler(bytes: &[u8]) -> Option<[u8; 4]> {
    let mut reader = ByteReader::new(bytes);
    reader.skip(8)?;
    reader.bytes()
}

impl Clock {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let (version, _) = reader.version_and_flags()?;
        reader.u32_or_u64(version)?;
        reader.u32_or_u64(version)?;
        let timescale = reader.u32()?;
        let duration = reader.u32_or_u64(version)?;
        let is_unknown = duration == u64::MAX || (version == 0 && duration == u64::from(u32::MAX));
        Some(Self {
            timescale,
            duration: if is_unknown { 0 } else { duration },
        })
    }
}

impl TrackHeader {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let (version, _) = reader.version_and_flags()?;
        reader.u32_or_u64(version)?;
        reader.u32_or_u64(version)?;
        let id = reader.u32()?;
        let display = Display::read(reader, version);
        Some(Self { id, display })
    }
}

impl Display {
    /// From behind the id of a track header.
    fn read(mut reader: ByteReader<'_>, version: u8) -> Option<Self> {
        reader.skip(4)?;
        reader.u32_or_u64(version)?;
        reader.skip(16)?;
        let mut matrix = [0; 9];
        for cell in &mut matrix {
            *cell = reader.i32()?;
        }
        let [a, b, _, c, d, ..] = matrix;
        Some(Self {
            // 16 bits before the point and 16 behind it.
            size: Size::new(reader.u32()? >> 16, reader.u32()? >> 16),
            is_rotated: a == 0 && d == 0 && b != 0 && c != 0,
        })
    }
}

impl<'a> EditList<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let (version, _) = reader.version_and_flags()?;
        let count = reader.u32()?;
        Some(Self {
            count,
            version,
            reader,
        })
    }

    pub(super) fn next_edit(&mut self) -> Option<Edit> {
        let duration = self.reader.u32_or_u64(self.version)?;
        let media_time = if self.version == 1 {
            i64::from_be_bytes(self.reader.bytes()?)
        } else {
            i64::from(self.reader.i32()?)
        };
        Some(Edit {
            duration,
            media_time,
            rate: self.reader.i32()?,
        })
    }
}

impl TrackDefaults {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        reader.version_and_flags()?;
        let id = reader.u32()?;
        reader.skip(4)?;
        Some(Self {
            id,
            duration: reader.u32()?,
            size: reader.u32()?,
        })
    }
}

impl FragmentHeader {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let (_, flags) = reader.version_and_flags()?;
        let id = reader.u32()?;
        let base = match flags & HAS_BASE {
            0 => None,
            _ => Some(reader.u64()?),
        };
        if flags & HAS_DESCRIPTION != 0 {
            reader.skip(4)?;
        }
        let mut next = |flag: u32| optional(&mut reader, flags & flag != 0);
        Some(Self {
            id,
            base,
            duration: next(HAS_DEFAULT_DURATION)?,
            size: next(HAS_DEFAULT_SIZE)?,
        })
    }
}

impl RunHeader {
    /// The longest header of a run, and the longest entry behind it.
    pub(super) const MAX_BYTES: usize = 16;

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let (_, flags) = reader.version_and_flags()?;
        let count = reader.u32()?;
        let offset = optional(&mut reader, flags & HAS_OFFSET != 0)?;
        Some(Self {
            flags,
            count,
            offset: offset.map(u32::cast_signed),
            header_bytes: four_each(flags, &[HAS_OFFSET, HAS_FIRST_FLAGS]).saturating_add(8),
        })
    }

    /// The size of an entry.
    pub(super) fn sample_bytes(&self) -> u64 {
        four_each(self.flags, &[HAS_DURATION, HAS_SIZE, HAS_FLAGS, HAS_SHIFT])
    }

    /// Whether all samples have the default duration and no shift.
    pub(super) const fn is_uniform(&self) -> bool {
        self.flags & (HAS_DURATION | HAS_SHIFT) == 0
    }

    pub(super) fn sample(&self, reader: &mut ByteReader<'_>) -> Option<RunSample> {
        let mut next = |flag: u32| optional(reader, self.flags & flag != 0);
        let (duration, size) = (next(HAS_DURATION)?, next(HAS_SIZE)?);
        next(HAS_FLAGS)?;
        Some(RunSample {
            duration,
            size,
            shift: next(HAS_SHIFT)?.map(u32::cast_signed),
        })
    }
}

/// A field that may be left out. None: it should be there and is not.
fn optional(reader: &mut ByteReader<'_>, is_there: bool) -> Option<Option<u32>> {
    if is_there {
        reader.u32().map(Some)
    } else {
        Some(None)
    }
}

/// Four bytes for each of the flags that is set.
fn four_each(flags: u32, fields: &[u32]) -> u64 {
    let there = fields.iter().filter(|field| flags & **field != 0);
    there.fold(0, |sum, _| u64::saturating_add(sum, 4))
}
