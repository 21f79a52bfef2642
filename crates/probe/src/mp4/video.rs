//! The length and the size of a video, and the size of HEIC and AVIF images. It goes into the boxes that
//! lead to them, reads the few that hold them, and skips all others without asking for their bytes.

mod fragments;
mod movie;

use crate::byte_reader::ByteReader;
use crate::visual::byte_window::{ByteWindow, Pause};
use crate::visual::{Format, MAX_BOXES, MAX_EDITS, MAX_NEED_BYTES, MediaInfo, ProbeError, Size};

use super::box_readers::{Clock, Edit, EditList, TrackDefaults, TrackHeader, handler};
use super::box_walk::{BoxHeader, BoxName, BoxWalk, HEADER_BYTES};
use movie::Movie;

const IMAGE_BRANDS: [&BoxName; 6] = [b"heic", b"heix", b"heim", b"heis", b"mif1", b"avif"];
/// One byte more than may be read, so that a table that is too large is distinguished from one that fits.
const WHOLE_TABLE: u64 = MAX_NEED_BYTES + 1;

/// A file while it is read.
#[derive(Debug, Default)]
pub(crate) struct VideoReader {
    walk: BoxWalk,
    has_movie: bool,
    brand: Option<BoxName>,
    movie: Movie,
    image: Option<Size>,
    /// Up to here an index has given the length of fragments, which need not be read.
    indexed_to: u64,
}

/// What is done with a box.
enum Task {
    Enter,
    /// At most so many bytes of it.
    Read(u64),
    Skip,
    Refuse(ProbeError),
}

impl VideoReader {
    pub(crate) fn run(&mut self, window: &ByteWindow) -> Result<MediaInfo, Pause> {
        loop {
            if window.total().is_some_and(|total| total < self.walk.at()) {
                return Err(ProbeError::Truncated.into());
            }
            while let Some(name) = self.walk.leave(window.total()) {
                if let Some(info) = self.left(&name)? {
                    return Ok(info);
                }
            }
            if self.walk.parent().is_none() && window.total() == Some(self.walk.at()) {
                return Ok(self.end_of_file()?);
            }
            if let Some(info) = self.next_box(window)? {
                return Ok(info);
            }
        }
    }

    /// What is known behind the end of a box.
    fn left(&mut self, name: &BoxName) -> Result<Option<MediaInfo>, ProbeError> {
        match name {
            b"moov" if !self.movie.needs_fragments() => self.movie.measure(self.brand).map(Some),
            b"moov" => {
                self.has_movie = true;
                Ok(None)
            }
            b"traf" => self.movie.end_run().map(|()| None),
            b"meta" => {
                let size = self.image.ok_or(ProbeError::NoSize)?;
                Ok(Some(MediaInfo::image(Format::Heif, self.brand, size)))
            }
            _ => Ok(None),
        }
    }

    fn end_of_file(&self) -> Result<MediaInfo, ProbeError> {
        if self.has_movie {
            return self.movie.measure(self.brand);
        }
        Err(if self.is_image() {
            ProbeError::NoSize
        } else {
            ProbeError::NoMovie
        })
    }

    /// Reads the header of the next box and does with it what is to be done. Nothing changes before all
    /// bytes that it takes are there, since it is called again from the start.
    fn next_box(&mut self, window: &ByteWindow) -> Result<Option<MediaInfo>, Pause> {
        let header = self.header(window)?;
        let parent = self.walk.parent();
        if parent.is_none() && &header.name != b"sidx" && self.indexed_to > header.start {
            self.walk.skip_to(self.indexed_to);
            return Ok(None);
        }
        match self.task(parent, &header.name) {
            Task::Refuse(error) => return Err(error.into()),
            Task::Enter => self.enter(&header)?,
            Task::Read(most) => {
                let end = header.end.or(window.total()).ok_or(ProbeError::Malformed)?;
                let length = end.saturating_sub(header.body).min(most);
                let bytes = window.read_from(header.start, header.body, length)?;
                self.read(&header.name, bytes, end)?;
                self.walk.skip_to(end);
            }
            Task::Skip => match header.end {
                Some(end) => self.walk.skip_to(end),
                // It is the last of the file, however long that is.
                None => return Ok(Some(self.end_of_file()?)),
            },
        }
        let counted = self.walk.count(MAX_BOXES);
        counted.ok_or(ProbeError::TooManyParts)?;
        Ok(None)
    }

    fn enter(&mut self, header: &BoxHeader) -> Result<(), ProbeError> {
        match &header.name {
            b"trak" => self.movie.begin_track()?,
            b"traf" => self.movie.begin_run(),
            _ => {}
        }
        // Version and flags stand before the boxes in it.
        let skipped = if &header.name == b"meta" { 4 } else { 0 };
        let first = header.body.saturating_add(skipped);
        if header.end.is_some_and(|end| end < first) {
            return Err(ProbeError::Malformed);
        }
        let entered = self.walk.enter(header.name, first, header.end);
        entered.ok_or(ProbeError::TooManyParts)
    }

    /// The header of the next box, which must end within the box and the file around it.
    fn header(&self, window: &ByteWindow) -> Result<BoxHeader, Pause> {
        let at = self.walk.at();
        let length = BoxHeader::length(window.read(at, HEADER_BYTES)?);
        let header = BoxHeader::read(window.read(at, length)?, at);
        let mut header = header.ok_or(ProbeError::Malformed)?;
        let limit = self.walk.limit();
        header.end = header.end.or(limit).or(window.total());
        let is_beyond = |limit: u64| header.end.is_some_and(|end| end > limit);
        if limit.is_some_and(is_beyond) {
            return Err(ProbeError::Malformed.into());
        }
        if window.total().is_some_and(is_beyond) {
            return Err(ProbeError::Truncated.into());
        }
        Ok(header)
    }

    /// What is done with a box of this name in this place.
    fn task(&self, parent: Option<&BoxName>, name: &BoxName) -> Task {
        let Some(parent) = parent else {
            return self.task_in_file(name);
        };
        match (parent, name) {
            (b"moov", b"cmov") => Task::Refuse(ProbeError::Compressed),
            (b"moov", b"mvex" | b"trak")
            | (b"trak", b"edts" | b"mdia")
            | (b"mdia", b"minf")
            | (b"minf", b"stbl")
            | (b"moof", b"traf")
            | (b"meta", b"iprp")
            | (b"iprp", b"ipco") => Task::Enter,
            (b"moov", b"mvhd")
            | (b"mvex", b"mehd" | b"trex")
            | (b"trak", b"tkhd")
            | (b"mdia", b"mdhd") => Task::Read(128),
            (b"traf", b"tfhd" | b"tfdt") | (b"ipco", b"ispe") => Task::Read(64),
            (b"mdia", b"hdlr") => Task::Read(12),
            (b"stbl", b"stsd") => Task::Read(44),
            (b"stbl", b"ctts") => Task::Read(16),
            (b"edts", b"elst") | (b"stbl", b"stts") | (b"traf", b"trun") => Task::Read(WHOLE_TABLE),
            _ => Task::Skip,
        }
    }

    fn task_in_file(&self, name: &BoxName) -> Task {
        match name {
            b"ftyp" => Task::Read(4),
            b"meta" if self.is_image() => Task::Enter,
            b"moov" if self.has_movie => Task::Refuse(ProbeError::Malformed),
            b"moof" | b"sidx" if !self.has_movie => Task::Refuse(ProbeError::NoMovie),
            b"moov" | b"moof" => Task::Enter,
            b"sidx" => Task::Read(WHOLE_TABLE),
            _ => Task::Skip,
        }
    }

    /// Takes over the contents of a box, which ends at `end` in the file.
    fn read(&mut self, name: &BoxName, bytes: &[u8], end: u64) -> Result<(), ProbeError> {
        let movie = &mut self.movie;
        match name {
            b"ftyp" => self.brand = Some(ByteReader::new(bytes).bytes().ok_or(TOO_SHORT)?),
            b"mvhd" => movie.timescale = Clock::read(bytes).ok_or(TOO_SHORT)?.timescale,
            b"mehd" => movie.claimed = versioned(bytes).ok_or(TOO_SHORT)?,
            b"trex" => movie.add_defaults(TrackDefaults::read(bytes).ok_or(TOO_SHORT)?)?,
            b"tkhd" => {
                let header = TrackHeader::read(bytes).ok_or(TOO_SHORT)?;
                let display = header.display.ok_or(TOO_SHORT)?;
                let track = movie.track()?;
                (track.id, track.display) = (header.id, Some(display));
            }
            b"elst" => movie.track()?.edits = edits(bytes)?,
            b"mdhd" => movie.track()?.clock = Some(Clock::read(bytes).ok_or(TOO_SHORT)?),
            b"hdlr" => movie.track()?.handler = handler(bytes).ok_or(TOO_SHORT)?,
            b"stsd" => movie.track()?.coded = coded_size(bytes),
            b"stts" => movie.track()?.samples = stts(bytes)?,
            b"ctts" => movie.track()?.first_shift = ctts(bytes).ok_or(TOO_SHORT)?,
            b"tfhd" => movie.tfhd(bytes)?,
            b"tfdt" => movie.tfdt(versioned(bytes).ok_or(TOO_SHORT)?),
            b"trun" => movie.trun(bytes)?,
            b"sidx" => {
                if let Some(covered) = movie.sidx(bytes, end)? {
                    self.indexed_to = self.indexed_to.max(covered);
                }
            }
            b"ispe" => {
                let size = ispe(bytes).ok_or(TOO_SHORT)?;
                // An image of tiles has the size of a tile as well.
                let area = |size: Option<Size>| size.map_or(0, Size::area);
                if area(size) > area(self.image) {
                    self.image = size;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn is_image(&self) -> bool {
        let brand = self.brand;
        brand.is_some_and(|brand| IMAGE_BRANDS.contains(&&brand))
    }
}

/// A box that ends before its fields do.
const TOO_SHORT: ProbeError = ProbeError::Malformed;

/// The first field of a box, 32 or 64 bits wide.
fn versioned(bytes: &[u8]) -> Option<u64> {
    let mut reader = ByteReader::new(bytes);
    let (version, _) = reader.version_and_flags()?;
    reader.u32_or_u64(version)
}

fn edits(bytes: &[u8]) -> Result<Vec<Edit>, ProbeError> {
    let mut list = EditList::read(bytes).ok_or(TOO_SHORT)?;
    if usize::try_from(list.count).is_ok_and(|count| count <= MAX_EDITS) {
        let edits = (0..list.count).map(|_| list.next_edit());
        return edits.collect::<Option<_>>().ok_or(TOO_SHORT);
    }
    Err(ProbeError::TooManyParts)
}

/// The size in the first sample description; none if it describes something else than pictures.
fn coded_size(bytes: &[u8]) -> Option<Size> {
    let mut reader = ByteReader::new(bytes);
    reader.skip(40)?;
    let (width, height) = (reader.u16()?, reader.u16()?);
    Size::new(width.into(), height.into())
}

/// The duration of all samples.
fn stts(bytes: &[u8]) -> Result<u64, ProbeError> {
    let mut reader = ByteReader::new(bytes);
    reader.version_and_flags().ok_or(TOO_SHORT)?;
    let count = reader.u32().ok_or(TOO_SHORT)?;
    let mut sum: u64 = 0;
    for _ in 0..count {
        let samples = u64::from(reader.u32().ok_or(TOO_SHORT)?);
        let duration = u64::from(reader.u32().ok_or(TOO_SHORT)?);
        let run = samples.saturating_mul(duration);
        sum = sum.checked_add(run).ok_or(ProbeError::TooLong)?;
    }
    Ok(sum)
}

/// How much later than it is decoded the first sample is shown.
fn ctts(bytes: &[u8]) -> Option<i64> {
    let mut reader = ByteReader::new(bytes);
    reader.version_and_flags()?;
    if reader.u32()? == 0 {
        return Some(0);
    }
    reader.skip(4)?;
    // Version 0 says that it is unsigned, and writers put negative numbers there all the same.
    reader.i32().map(i64::from)
}

/// The size of an image or of one of its tiles.
fn ispe(bytes: &[u8]) -> Option<Option<Size>> {
    let mut reader = ByteReader::new(bytes);
    reader.version_and_flags()?;
    Some(Size::new(reader.u32()?, reader.u32()?))
}
