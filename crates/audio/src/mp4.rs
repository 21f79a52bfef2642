//! MP4 and its kin: boxes in boxes. `moov` says where the packets of each track lie, for a film in
//! fragments each `moof` does so for its own. Packets count if their bytes are in the file. No time in
//! a header is believed, with one exception at each end that can take away no more than a packet.

mod boxes;
mod entry;
mod fragments;
mod tables;
mod track;

use crate::fields::Fields;
use crate::source::{Source, Window};
use crate::{Codec, Length, Unheard};

use boxes::{Head, Walk};
use fragments::Fragment;
use track::Track;

/// Most tracks of a film.
const MAX_TRACKS: usize = 64;
/// What is read of a box that is no table; nothing that is needed stands further behind.
const LEAF_BYTES: usize = 4096;

/// A file under way.
struct Movie {
    /// What is being read of the boxes.
    boxes: Window,
    /// What is being read of the packets.
    packets: Window,
    tracks: Vec<Track>,
    fragment: Fragment,
}

/// Measures a file that begins with a box.
pub(crate) fn measure(source: &mut Source<'_>, start: u64) -> Result<(Codec, Length), Unheard> {
    let mut movie = Movie {
        boxes: Window::default(),
        packets: Window::default(),
        tracks: Vec::new(),
        fragment: Fragment::default(),
    };
    let mut walk = Walk::new(start);
    while let Some(head) = walk.next(source, &mut movie.boxes)? {
        movie.read(source, &head)?;
    }
    movie.ended(source)
}

impl Movie {
    fn read(&mut self, source: &mut Source<'_>, head: &Head) -> Result<(), Unheard> {
        match &head.name {
            b"cmov" => return Err(Unheard::TooComplex),
            b"trak" => {
                if self.tracks.len() >= MAX_TRACKS {
                    return Err(Unheard::TooComplex);
                }
                self.tracks.push(Track::default());
            }
            b"stts" | b"stsc" | b"stsz" | b"stz2" | b"stco" | b"co64" => {
                if let Some(track) = self.tracks.last_mut() {
                    let bytes = self.boxes.at(source, head.body, LEAF_BYTES)?;
                    track.tables.read(head, bytes);
                }
            }
            b"tkhd" | b"mdhd" | b"hdlr" | b"elst" | b"stsd" => {
                if let Some(track) = self.tracks.last_mut() {
                    let bytes = self.boxes.at(source, head.body, LEAF_BYTES)?;
                    // A box that is too short says nothing; what then lacks is missed at the end.
                    let _is_read = track.read(head, bytes);
                }
            }
            b"trex" => {
                let bytes = self.boxes.at(source, head.body, LEAF_BYTES)?;
                let _is_read = defaults(bytes, &mut self.tracks);
            }
            b"moof" => self.fragment.begin(head.start),
            b"tfhd" => {
                let bytes = self.boxes.at(source, head.body, LEAF_BYTES)?;
                self.fragment.header(bytes, &self.tracks);
            }
            b"trun" => {
                let (boxes, packets) = (&mut self.boxes, &mut self.packets);
                self.fragment
                    .run(source, boxes, packets, head, &mut self.tracks)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn ended(mut self, source: &mut Source<'_>) -> Result<(Codec, Length), Unheard> {
        if self.tracks.is_empty() {
            return Err(Unheard::Broken);
        }
        let mut longest: Option<(Codec, Length)> = None;
        for track in self.tracks.iter_mut().filter(|track| track.is_audio) {
            tables::count(source, &mut self.boxes, &mut self.packets, track)?;
            let heard = track.heard()?;
            if longest.is_none_or(|(_, length)| heard.1 > length) {
                longest = Some(heard);
            }
        }
        longest.ok_or(Unheard::NoAudioTrack)
    }
}

/// Sizes and lengths of packets in fragments that do not say their own.
fn defaults(bytes: &[u8], tracks: &mut [Track]) -> Option<()> {
    let mut fields = Fields::new(bytes);
    fields.skip(4)?;
    let id = fields.u32()?;
    fields.skip(4)?;
    let (ticks, size) = (fields.u32()?, fields.u32()?);
    let track = tracks.iter_mut().find(|track| track.id == id)?;
    (track.default_ticks, track.default_size) = (ticks, size);
    Some(())
}
