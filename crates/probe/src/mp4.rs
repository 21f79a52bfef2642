//! MP4 and QuickTime: boxes in boxes. One reader of boxes ([`box_walk`], [`box_readers`]) with two users,
//! which bill different things and believe different claims: [`audio`] counts the packets of an uploaded
//! file, of which every byte can be read, also when it is cut off; [`video`] sums the sample tables of a
//! file behind a URL, of which as few bytes as possible are fetched, and refuses one that is cut off.

pub(crate) mod audio;
mod box_readers;
mod box_walk;
pub(crate) mod video;

pub(crate) const MAX_DEPTH: usize = 8;
