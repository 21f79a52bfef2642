//! Files: what they are by their first bytes, and then their length by their packets.

use std::io::{Read, Seek};

use crate::adts_mpeg::Frames;
use crate::bounded_reader::BoundedReader;
use crate::incremental::Incremental;
use crate::measurement::{Count, CountResult};
use crate::sniff::sniff;
use crate::stream::Stream;
use crate::{Container, MeasureError, Measurement};
use crate::{mkv, mp4};

/// So much is read at once.
const PART_BYTES: usize = 64 << 10;

/// Measures a file by its packets. It is bounded: it keeps less than 1 MiB whatever the file claims,
/// reads each byte about once, and nothing beyond `bytes`, which is how long the file is.
///
/// # Errors
///
/// [`MeasureError`] says why the file has no length.
pub fn measure<R: Read + Seek>(mut source: R, bytes: u64) -> Result<Measurement, MeasureError> {
    let mut source = BoundedReader::new(&mut source, bytes)?;
    let (container, start) = sniff(&mut source)?;
    let Count {
        codec,
        length,
        undeclared,
    } = match container {
        Container::Wav => walk(&mut source, start, Stream::Wav(Box::default())),
        Container::Mp3 => walk(&mut source, start, Stream::Frames(Box::new(Frames::mpeg()))),
        Container::Adts => walk(&mut source, start, Stream::Frames(Box::new(Frames::adts()))),
        Container::Flac => walk(&mut source, start, Stream::Flac(Box::default())),
        Container::Ogg => walk(&mut source, start, Stream::Ogg(Box::default())),
        Container::Mp4 => mp4::audio::measure(&mut source, start),
        Container::WebM => mkv::measure(&mut source, start),
    }?;
    Ok(Measurement {
        container,
        codec,
        length,
        undeclared,
    })
}

/// Measures what can be read from front to back, from there on.
fn walk(source: &mut BoundedReader<'_>, start: u64, stream: Stream) -> CountResult {
    let mut incremental = Incremental::new(stream);
    let mut part = vec![0; PART_BYTES];
    let mut at = start;
    loop {
        let unseen = incremental.to_skip().min(source.bytes().saturating_sub(at));
        incremental.skipped(unseen);
        at = at.saturating_add(unseen);
        let count = source.read_at(at, &mut part)?;
        if count == 0 {
            break;
        }
        incremental.push(part.get(..count).unwrap_or_default());
        at = at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    }
    incremental.finish()
}
