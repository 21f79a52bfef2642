//! The walk through a file made of boxes. It goes into those that lead to a length or a size, reads
//! the few that hold them, and passes over all others without asking for their bytes.

use super::leaves::{Leaf, read_leaf};
use super::movie::Movie;
use super::window::{Pause, Window};
use super::{Format, MAX_BOXES, MAX_DEPTH, Measured, Reason, Size};

/// The head of a box, and of one with a length of 64 bits.
const HEAD_BYTES: u64 = 8;
const LONG_HEAD_BYTES: u64 = 16;
/// Brands of pictures.
const PICTURES: [&[u8; 4]; 6] = [b"heic", b"heix", b"heim", b"heis", b"mif1", b"avif"];

/// The walk, between two boxes.
#[derive(Debug, Default)]
pub(super) struct Walk {
    at: u64,
    open: Vec<Open>,
    boxes: u32,
    has_movie: bool,
    pub(super) brand: Option<[u8; 4]>,
    pub(super) movie: Movie,
    pub(super) picture: Option<Size>,
    /// Up to here an index has told the length of fragments, which need not be looked at.
    pub(super) indexed_to: u64,
}

/// A box that the walk is in.
#[derive(Debug, Clone, Copy)]
struct Open {
    inside: Inside,
    /// None: up to the end of the file.
    end: Option<u64>,
}

/// Where the walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    File,
    Moov,
    Mvex,
    Trak,
    Edts,
    Mdia,
    Minf,
    Stbl,
    Moof,
    Traf,
    Meta,
    Iprp,
    Ipco,
}

/// What is done with a box.
enum Task {
    Enter(Inside),
    Read(Leaf),
    Pass,
    Refuse(Reason),
}

/// The head of a box.
struct Head {
    name: [u8; 4],
    body: u64,
    /// None: up to the end of the file, which is not known.
    end: Option<u64>,
}

impl Walk {
    pub(super) fn run(&mut self, window: &Window) -> Result<Measured, Pause> {
        loop {
            if let Some(measured) = self.leave(window)? {
                return Ok(measured);
            }
            if let Some(measured) = self.enter(window)? {
                return Ok(measured);
            }
        }
    }

    /// Leaves all boxes that end here.
    fn leave(&mut self, window: &Window) -> Result<Option<Measured>, Reason> {
        while let Some(open) = self.open.last() {
            let end = open.end.or(window.total());
            // Fewer bytes than a head are filling; old QuickTime ends some lists with four zeros.
            match end {
                Some(end) if end < self.at => return Err(Reason::Truncated),
                Some(end) if end.saturating_sub(self.at) < HEAD_BYTES => self.at = end,
                Some(_) | None => return Ok(None),
            }
            let inside = open.inside;
            self.open.pop();
            if let Some(measured) = self.left(inside)? {
                return Ok(Some(measured));
            }
        }
        if window.total() == Some(self.at) {
            return self.end_of_file().map(Some);
        }
        Ok(None)
    }

    /// What is known when a box is behind us.
    fn left(&mut self, inside: Inside) -> Result<Option<Measured>, Reason> {
        match inside {
            Inside::Moov if !self.movie.needs_fragments() => {
                self.movie.measure(self.brand).map(Some)
            }
            Inside::Moov => {
                self.has_movie = true;
                Ok(None)
            }
            Inside::Traf => self.movie.end_run().map(|()| None),
            Inside::Meta => {
                let size = self.picture.ok_or(Reason::NoSize)?;
                Ok(Some(Measured::picture(Format::Heif, self.brand, size)))
            }
            Inside::File
            | Inside::Mvex
            | Inside::Trak
            | Inside::Edts
            | Inside::Mdia
            | Inside::Minf
            | Inside::Stbl
            | Inside::Moof
            | Inside::Iprp
            | Inside::Ipco => Ok(None),
        }
    }

    fn end_of_file(&self) -> Result<Measured, Reason> {
        if self.has_movie {
            return self.movie.measure(self.brand);
        }
        Err(if self.is_picture() {
            Reason::NoSize
        } else {
            Reason::NoMovie
        })
    }

    /// Reads the head of the next box and does with it what is to be done.
    fn enter(&mut self, window: &Window) -> Result<Option<Measured>, Pause> {
        let parent = self.open.last().copied().unwrap_or(Open {
            inside: Inside::File,
            end: None,
        });
        let head = self.head(parent, window)?;
        if parent.inside == Inside::File && &head.name != b"sidx" && self.indexed_to > self.at {
            self.at = self.indexed_to;
            return match window.total() {
                Some(total) if self.at > total => Err(Reason::Truncated.into()),
                Some(_) | None => Ok(None),
            };
        }
        match self.task(parent.inside, &head.name) {
            Task::Refuse(reason) => return Err(reason.into()),
            Task::Enter(inside) => self.go_into(inside, &head)?,
            Task::Read(leaf) => {
                let end = head.end.or(window.total()).ok_or(Reason::Malformed)?;
                let length = end.saturating_sub(head.body).min(leaf.most_bytes());
                let bytes = window.read_of(self.at, head.body, length)?;
                read_leaf(self, leaf, bytes, end)?;
                self.at = end;
            }
            Task::Pass => match head.end {
                Some(end) => self.at = end,
                // It is the last of the file, however long that is.
                None => return Ok(Some(self.end_of_file()?)),
            },
        }
        self.boxes = self.boxes.saturating_add(1);
        if self.boxes > MAX_BOXES {
            return Err(Reason::TooManyParts.into());
        }
        Ok(None)
    }

    fn go_into(&mut self, inside: Inside, head: &Head) -> Result<(), Reason> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Reason::TooManyParts);
        }
        match inside {
            Inside::Trak => self.movie.begin_track()?,
            Inside::Traf => self.movie.begin_run(),
            Inside::File
            | Inside::Moov
            | Inside::Mvex
            | Inside::Edts
            | Inside::Mdia
            | Inside::Minf
            | Inside::Stbl
            | Inside::Moof
            | Inside::Meta
            | Inside::Iprp
            | Inside::Ipco => {}
        }
        // Version and flags stand before the boxes in it.
        let skipped = if inside == Inside::Meta { 4 } else { 0 };
        self.at = head.body.saturating_add(skipped);
        if head.end.is_some_and(|end| end < self.at) {
            return Err(Reason::Malformed);
        }
        let end = head.end;
        self.open.push(Open { inside, end });
        Ok(())
    }

    fn head(&self, parent: Open, window: &Window) -> Result<Head, Pause> {
        let bytes = window.read(self.at, HEAD_BYTES)?;
        let mut fields = super::fields::Fields::new(bytes);
        let (short, name) = (fields.u32()?, fields.bytes()?);
        let limit = parent.end.or(window.total());
        let (head, length) = match short {
            0 => (HEAD_BYTES, None),
            1 => {
                let bytes = window.read(self.at, LONG_HEAD_BYTES)?;
                let mut fields = super::fields::Fields::new(bytes);
                fields.skip(8)?;
                (LONG_HEAD_BYTES, Some(fields.u64()?))
            }
            _ => (HEAD_BYTES, Some(u64::from(short))),
        };
        if length.is_some_and(|length| length < head) {
            return Err(Reason::Malformed.into());
        }
        let end = match length {
            None => limit,
            Some(length) => Some(self.at.checked_add(length).ok_or(Reason::Malformed)?),
        };
        let is_beyond = |limit: u64| end.is_some_and(|end| end > limit);
        if parent.end.is_some_and(is_beyond) {
            return Err(Reason::Malformed.into());
        }
        if window.total().is_some_and(is_beyond) {
            return Err(Reason::Truncated.into());
        }
        let body = self.at.saturating_add(head);
        Ok(Head { name, body, end })
    }

    /// What is done with a box of this name in this place.
    fn task(&self, inside: Inside, name: &[u8; 4]) -> Task {
        match (inside, name) {
            (Inside::File, b"ftyp") => Task::Read(Leaf::Ftyp),
            (Inside::File, b"meta") if self.is_picture() => Task::Enter(Inside::Meta),
            (Inside::File, b"moov") if self.has_movie => Task::Refuse(Reason::Malformed),
            (Inside::File, b"moov") => Task::Enter(Inside::Moov),
            (Inside::File, b"moof" | b"sidx") if !self.has_movie => Task::Refuse(Reason::NoMovie),
            (Inside::File, b"moof") => Task::Enter(Inside::Moof),
            (Inside::File, b"sidx") => Task::Read(Leaf::Sidx),
            (Inside::Moov, b"cmov") => Task::Refuse(Reason::Compressed),
            (Inside::Moov, b"mvhd") => Task::Read(Leaf::Mvhd),
            (Inside::Moov, b"mvex") => Task::Enter(Inside::Mvex),
            (Inside::Moov, b"trak") => Task::Enter(Inside::Trak),
            (Inside::Mvex, b"mehd") => Task::Read(Leaf::Mehd),
            (Inside::Mvex, b"trex") => Task::Read(Leaf::Trex),
            (Inside::Trak, b"tkhd") => Task::Read(Leaf::Tkhd),
            (Inside::Trak, b"edts") => Task::Enter(Inside::Edts),
            (Inside::Trak, b"mdia") => Task::Enter(Inside::Mdia),
            (Inside::Edts, b"elst") => Task::Read(Leaf::Elst),
            (Inside::Mdia, b"mdhd") => Task::Read(Leaf::Mdhd),
            (Inside::Mdia, b"hdlr") => Task::Read(Leaf::Hdlr),
            (Inside::Mdia, b"minf") => Task::Enter(Inside::Minf),
            (Inside::Minf, b"stbl") => Task::Enter(Inside::Stbl),
            (Inside::Stbl, b"stsd") => Task::Read(Leaf::Stsd),
            (Inside::Stbl, b"stts") => Task::Read(Leaf::Stts),
            (Inside::Stbl, b"ctts") => Task::Read(Leaf::Ctts),
            (Inside::Moof, b"traf") => Task::Enter(Inside::Traf),
            (Inside::Traf, b"tfhd") => Task::Read(Leaf::Tfhd),
            (Inside::Traf, b"tfdt") => Task::Read(Leaf::Tfdt),
            (Inside::Traf, b"trun") => Task::Read(Leaf::Trun),
            (Inside::Meta, b"iprp") => Task::Enter(Inside::Iprp),
            (Inside::Iprp, b"ipco") => Task::Enter(Inside::Ipco),
            (Inside::Ipco, b"ispe") => Task::Read(Leaf::Ispe),
            _ => Task::Pass,
        }
    }

    fn is_picture(&self) -> bool {
        let brand = self.brand;
        brand.is_some_and(|brand| PICTURES.contains(&&brand))
    }
}
