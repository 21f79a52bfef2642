//! One stream of an Ogg file: its headers, its packets, and where its pages say it ends.

use crate::byte_reader::{ByteReader, count_of};
use crate::codecs::flac::stream_rate;
use crate::codecs::{Coding, Counter, HEADER_BYTES, opus, vorbis};
use crate::{Codec, Length};

#[derive(Debug)]
pub(super) struct Track {
    serial: u32,
    kind: Kind,
    packet: Packet,
    /// Samples at the start that are no sound.
    pre_skip: u64,
    /// Headers to come that cannot be distinguished from sound.
    headers_left: u32,
    /// Where the page before ended, by its granule.
    granule: Option<u64>,
    /// Samples of the packets that end on this page.
    page_samples: u64,
    /// Samples of the last packet that are no sound.
    end_trim: u64,
}

/// What is known of it.
#[derive(Debug)]
enum Kind {
    Unknown,
    /// Vorbis before its third header.
    Vorbis(vorbis::Identity),
    Audio(Counter),
    /// Video, or an unknown codec.
    Other,
}

/// A packet under way: its first bytes and its last.
#[derive(Debug, Default)]
struct Packet {
    header: Vec<u8>,
    tail: Vec<u8>,
    size: u64,
    /// It began on a page that is not here.
    is_headless: bool,
}

impl Track {
    pub(super) fn new(serial: u32) -> Self {
        Self {
            serial,
            kind: Kind::Unknown,
            packet: Packet::default(),
            pre_skip: 0,
            headers_left: 0,
            granule: None,
            page_samples: 0,
            end_trim: 0,
        }
    }

    pub(super) const fn serial(&self) -> u32 {
        self.serial
    }

    pub(super) fn begin_page(&mut self, is_continued: bool) {
        self.page_samples = 0;
        self.end_trim = 0;
        let is_open = self.packet.size > 0;
        if is_open != is_continued {
            self.packet = Packet::default();
            self.packet.is_headless = is_continued;
        }
    }

    pub(super) fn segment(&mut self, bytes: &[u8], ends_packet: bool) {
        let keeps_tail = matches!(self.kind, Kind::Vorbis(_));
        self.packet.take(bytes, keeps_tail);
        if ends_packet {
            let packet = std::mem::take(&mut self.packet);
            if !packet.is_headless {
                self.packet_ended(&packet);
            }
        }
    }

    pub(super) fn end_page(&mut self, granule: Option<u64>, is_last: bool) {
        let Some(granule) = granule else {
            return;
        };
        if is_last {
            let expected = self.granule.unwrap_or(0).saturating_add(self.page_samples);
            let over = expected.saturating_sub(granule);
            let most = self.most_trim().min(self.page_samples);
            // More than a packet is not padding but a lie.
            self.end_trim = if over <= most { over } else { 0 };
        }
        self.granule = Some(granule);
    }

    pub(super) fn measured(&self) -> Option<(Codec, Length)> {
        match &self.kind {
            Kind::Audio(counter) => {
                let silent = self.pre_skip.saturating_add(self.end_trim);
                Some((counter.coding().codec(), counter.length_without(silent)))
            }
            Kind::Unknown | Kind::Vorbis(_) | Kind::Other => None,
        }
    }

    const fn most_trim(&self) -> u64 {
        match &self.kind {
            Kind::Audio(counter) => match counter.coding() {
                Coding::Opus => opus::MAX_PACKET_SAMPLES,
                Coding::Vorbis(_) => vorbis::MAX_BLOCK_SAMPLES,
                // The granules of Speex are those of its encoder, not of what comes out.
                Coding::Flac(_)
                | Coding::Mpeg
                | Coding::Ac3
                | Coding::Alac { .. }
                | Coding::Fixed { .. }
                | Coding::Raw { .. } => 0,
            },
            Kind::Unknown | Kind::Vorbis(_) | Kind::Other => 0,
        }
    }

    fn packet_ended(&mut self, packet: &Packet) {
        match &mut self.kind {
            Kind::Unknown => self.first_header(&packet.header),
            Kind::Vorbis(identity) => {
                if packet.header.starts_with(b"\x05vorbis") {
                    let coding = vorbis::Vorbis::new(*identity, &packet.tail);
                    self.kind = coding.map_or(Kind::Other, |vorbis| {
                        Kind::Audio(Counter::new(Coding::Vorbis(vorbis)))
                    });
                }
            }
            Kind::Audio(_) if self.headers_left > 0 => {
                self.headers_left = self.headers_left.saturating_sub(1);
            }
            Kind::Audio(counter) => {
                if is_sound(counter.coding(), &packet.header) {
                    let samples = counter.packet(&packet.header, packet.size);
                    self.page_samples = self.page_samples.saturating_add(samples);
                }
            }
            Kind::Other => {}
        }
    }

    fn first_header(&mut self, header: &[u8]) {
        let coding = if let Some(pre_skip) = opus::pre_skip(header) {
            self.pre_skip = pre_skip;
            Some(Coding::Opus)
        } else if let Some(identity) = vorbis::Identity::read(header) {
            self.kind = Kind::Vorbis(identity);
            return;
        } else if let Some(rest) = header.strip_prefix(b"\x7FFLAC") {
            // Version, number of headers, the magic of FLAC and the header of a block.
            rest.get(12..).and_then(stream_rate).map(Coding::Flac)
        } else {
            // Speex has a comment behind its header, which looks like sound.
            self.headers_left = 1;
            speex(header)
        };
        self.kind = coding.map_or(Kind::Other, |coding| Kind::Audio(Counter::new(coding)));
    }
}

impl Packet {
    fn take(&mut self, bytes: &[u8], keeps_tail: bool) {
        let remaining = HEADER_BYTES.saturating_sub(self.header.len());
        self.header.extend(bytes.iter().take(remaining));
        self.size = self.size.saturating_add(count_of(bytes));
        if keeps_tail {
            self.tail.extend_from_slice(bytes);
            let over = self.tail.len().saturating_sub(vorbis::TAIL_BYTES);
            self.tail.drain(..over);
        }
    }
}

/// Whether a packet is sound and not one of the headers behind the first.
fn is_sound(coding: &Coding, header: &[u8]) -> bool {
    match coding {
        Coding::Opus => !header.starts_with(b"OpusTags"),
        Coding::Flac(_) => header.first() == Some(&0xFF),
        Coding::Vorbis(_)
        | Coding::Mpeg
        | Coding::Ac3
        | Coding::Alac { .. }
        | Coding::Fixed { .. }
        | Coding::Raw { .. } => true,
    }
}

fn speex(header: &[u8]) -> Option<Coding> {
    if !header.starts_with(b"Speex   ") {
        return None;
    }
    let mut reader = ByteReader::new(header);
    reader.skip(36)?;
    let rate = reader.u32_le()?;
    reader.skip(16)?;
    let frame_samples = u64::from(reader.u32_le()?);
    reader.skip(4)?;
    let frames = u64::from(reader.u32_le()?).max(1);
    let samples = frame_samples.checked_mul(frames)?;
    // A packet of more than a second is none that Speex makes.
    (rate > 0 && samples > 0 && samples <= u64::from(rate)).then_some(Coding::Fixed {
        samples,
        rate,
        codec: Codec::Other,
    })
}
