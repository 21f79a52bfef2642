//! The length of an MP4 file by its audio packets. `moov` says where the packets of each track lie; of a
//! fragmented file each `moof` does so for its own. Packets count if their bytes are in the file. No time
//! in a header is believed, with one exception at each end that can take away no more than a packet.

mod fragments;
mod sample_entry;
mod sample_tables;
mod track;

use crate::MeasureError;
use crate::bounded_reader::{BoundedReader, ReadBuffer};
use crate::byte_reader::count_of;
use crate::measurement::{CountResult, longest};

use super::box_readers::TrackDefaults;
use super::box_walk::{BoxHeader, BoxWalk, HEADER_BYTES, LONG_HEADER_BYTES};
use fragments::Fragment;
use track::Track;

/// Most tracks of a file.
const MAX_TRACKS: usize = 64;
/// Most boxes that are read: ten hours in fragments of a second have a third of it.
const MAX_BOXES: u32 = 1_000_000;
/// What is read of a box that is no table; nothing that is needed stands further behind.
const LEAF_BYTES: usize = 4096;
/// Boxes that are entered, wherever they stand: players find tracks in odd places too, and what they
/// play is billed.
const CONTAINERS: [&[u8; 4]; 9] = [
    b"moov", b"trak", b"edts", b"mdia", b"minf", b"stbl", b"mvex", b"moof", b"traf",
];

/// A file while it is read.
#[derive(Default)]
struct Movie {
    /// Bytes of boxes.
    boxes: ReadBuffer,
    /// Bytes of packets.
    packets: ReadBuffer,
    tracks: Vec<Track>,
    fragment: Fragment,
}

/// Measures a file that begins with a box.
pub(crate) fn measure(source: &mut BoundedReader<'_>, start: u64) -> CountResult {
    let mut movie = Movie::default();
    let mut walk = BoxWalk::new(start);
    while let Some(header) = movie.next_box(source, &mut walk)? {
        movie.read(source, &header)?;
    }
    movie.finish(source)
}

impl Movie {
    /// The header of the next box, none at the end of the file. A box that claims to end behind the box
    /// or the file around it ends there: of a file that was cut off, what is there counts.
    fn next_box(
        &mut self,
        source: &mut BoundedReader<'_>,
        walk: &mut BoxWalk,
    ) -> Result<Option<BoxHeader>, MeasureError> {
        let total = source.bytes();
        while walk.leave(Some(total)).is_some() {}
        let needed = usize::try_from(LONG_HEADER_BYTES).unwrap_or(usize::MAX);
        let bytes = self.boxes.at(source, walk.at(), needed)?;
        if count_of(bytes) < HEADER_BYTES {
            return Ok(None);
        }
        let mut header = BoxHeader::read(bytes, walk.at()).ok_or(MeasureError::Broken)?;
        walk.count(MAX_BOXES).ok_or(MeasureError::TooComplex)?;
        let limit = walk.limit().unwrap_or(total);
        let end = header.end.unwrap_or(limit).min(limit);
        header.end = Some(end);
        if CONTAINERS.contains(&&header.name) {
            walk.enter(header.name, header.body, header.end)
                .ok_or(MeasureError::TooComplex)?;
        } else {
            walk.skip_to(end);
        }
        Ok(Some(header))
    }

    fn read(
        &mut self,
        source: &mut BoundedReader<'_>,
        header: &BoxHeader,
    ) -> Result<(), MeasureError> {
        match &header.name {
            b"cmov" => return Err(MeasureError::TooComplex),
            b"trak" => {
                if self.tracks.len() >= MAX_TRACKS {
                    return Err(MeasureError::TooComplex);
                }
                self.tracks.push(Track::default());
            }
            b"stts" | b"stsc" | b"stsz" | b"stz2" | b"stco" | b"co64" => {
                if let Some(track) = self.tracks.last_mut() {
                    let bytes = self.boxes.at(source, header.body, LEAF_BYTES)?;
                    track.tables.read(header, bytes);
                }
            }
            b"tkhd" | b"mdhd" | b"hdlr" | b"elst" | b"stsd" => {
                if let Some(track) = self.tracks.last_mut() {
                    let bytes = self.boxes.at(source, header.body, LEAF_BYTES)?;
                    // A box that is too short is ignored; what it lacks is missed at the end.
                    let _is_read = track.read(header, bytes);
                }
            }
            b"trex" => {
                let bytes = self.boxes.at(source, header.body, LEAF_BYTES)?;
                if let Some(defaults) = TrackDefaults::read(bytes)
                    && let Some(track) = self.tracks.iter_mut().find(|it| it.id == defaults.id)
                {
                    (track.default_ticks, track.default_size) = (defaults.duration, defaults.size);
                }
            }
            b"moof" => self.fragment.begin(header.start),
            b"tfhd" => {
                let bytes = self.boxes.at(source, header.body, LEAF_BYTES)?;
                self.fragment.header(bytes, &self.tracks);
            }
            b"trun" => {
                let (boxes, packets) = (&mut self.boxes, &mut self.packets);
                self.fragment
                    .run(source, boxes, packets, header, &mut self.tracks)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self, source: &mut BoundedReader<'_>) -> CountResult {
        if self.tracks.is_empty() {
            return Err(MeasureError::Broken);
        }
        let (boxes, packets) = (&mut self.boxes, &mut self.packets);
        let audio = self.tracks.iter_mut().filter(|track| track.is_audio);
        longest(audio.map(|track| {
            sample_tables::count(source, boxes, packets, track)?;
            track.measured()
        }))
    }
}
