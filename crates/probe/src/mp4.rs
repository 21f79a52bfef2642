//! MP4 and its kin: boxes in boxes. `moov` says where the packets of each track lie, for a film in
//! fragments each `moof` does so for its own. Packets count if their bytes are in the file. No time in
//! a header is believed, with one exception at each end that can take away no more than a packet.

mod boxes;
mod entry;
mod fragments;
mod tables;
mod track;

use crate::bounded_reader::{BoundedReader, ReadBuffer};
use crate::byte_reader::ByteReader;
use crate::{Codec, Length, MeasureError};

use boxes::{Header, Walk};
use fragments::Fragment;
use track::Track;

/// Most tracks of a film.
const MAX_TRACKS: usize = 64;
/// What is read of a box that is no table; nothing that is needed stands further behind.
const LEAF_BYTES: usize = 4096;

/// A file under way.
struct Movie {
    /// What is being read of the boxes.
    boxes: ReadBuffer,
    /// What is being read of the packets.
    packets: ReadBuffer,
    tracks: Vec<Track>,
    fragment: Fragment,
}

/// Measures a file that begins with a box.
pub(crate) fn measure(
    source: &mut BoundedReader<'_>,
    start: u64,
) -> Result<(Codec, Length), MeasureError> {
    let mut movie = Movie {
        boxes: ReadBuffer::default(),
        packets: ReadBuffer::default(),
        tracks: Vec::new(),
        fragment: Fragment::default(),
    };
    let mut walk = Walk::new(start);
    while let Some(header) = walk.next(source, &mut movie.boxes)? {
        movie.read(source, &header)?;
    }
    movie.finish(source)
}

impl Movie {
    fn read(
        &mut self,
        source: &mut BoundedReader<'_>,
        header: &Header,
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
                    // A box that is too short says nothing; what then lacks is missed at the end.
                    let _is_read = track.read(header, bytes);
                }
            }
            b"trex" => {
                let bytes = self.boxes.at(source, header.body, LEAF_BYTES)?;
                let _is_read = defaults(bytes, &mut self.tracks);
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

    fn finish(mut self, source: &mut BoundedReader<'_>) -> Result<(Codec, Length), MeasureError> {
        if self.tracks.is_empty() {
            return Err(MeasureError::Broken);
        }
        let mut longest: Option<(Codec, Length)> = None;
        for track in self.tracks.iter_mut().filter(|track| track.is_audio) {
            tables::count(source, &mut self.boxes, &mut self.packets, track)?;
            let measured = track.measured()?;
            if longest.is_none_or(|(_, length)| measured.1 > length) {
                longest = Some(measured);
            }
        }
        longest.ok_or(MeasureError::NoAudioTrack)
    }
}

/// Sizes and lengths of packets in fragments that do not say their own.
fn defaults(bytes: &[u8], tracks: &mut [Track]) -> Option<()> {
    let mut reader = ByteReader::new(bytes);
    reader.skip(4)?;
    let id = reader.u32()?;
    reader.skip(4)?;
    let (ticks, size) = (reader.u32()?, reader.u32()?);
    let track = tracks.iter_mut().find(|track| track.id == id)?;
    (track.default_ticks, track.default_size) = (ticks, size);
    Some(())
}
