//! A small writer of MP4 and MOV.

/// A track to write.
#[derive(Debug, Clone)]
pub(crate) struct Track {
    pub(crate) id: u32,
    pub(crate) handler: &'static [u8; 4],
    pub(crate) timescale: u32,
    /// Runs of samples: how many, and how long each.
    pub(crate) samples: Vec<(u32, u32)>,
    /// Length in the movie's ticks, start in the track's, rate.
    pub(crate) edits: Vec<(u64, i64, i16)>,
    /// How much later samples are shown than decoded.
    pub(crate) shift: Option<i32>,
    pub(crate) size: (u16, u16),
    pub(crate) is_turned: bool,
    pub(crate) is_wide: bool,
}

/// Ticks a second of movies that are written here.
pub(crate) const MOVIE_TICKS: u32 = 1000;

pub(crate) fn video(timescale: u32, samples: &[(u32, u32)]) -> Track {
    Track {
        id: 1,
        handler: b"vide",
        timescale,
        samples: samples.to_vec(),
        edits: Vec::new(),
        shift: None,
        size: (1280, 720),
        is_turned: false,
        is_wide: false,
    }
}

pub(crate) fn sound(samples: u32) -> Track {
    Track {
        id: 2,
        handler: b"soun",
        size: (0, 0),
        ..video(48_000, &[(samples, 1024)])
    }
}

pub(crate) fn boxed(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 8).unwrap();
    [&length.to_be_bytes()[..], name, body].concat()
}

/// With a length of 64 bits.
pub(crate) fn wide(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let length = (body.len() + 16) as u64;
    [&1_u32.to_be_bytes()[..], name, &length.to_be_bytes(), body].concat()
}

/// With the length 0: up to the end.
pub(crate) fn open_ended(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    [&[0; 4][..], name, body].concat()
}

pub(crate) fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|one| one.to_be_bytes()).collect()
}

pub(crate) fn ftyp(brand: &[u8; 4]) -> Vec<u8> {
    boxed(
        b"ftyp",
        &[&brand[..], &[0, 0, 2, 0], brand, b"mp41"].concat(),
    )
}

pub(crate) fn mdat(length: usize) -> Vec<u8> {
    boxed(b"mdat", &vec![0xab; length])
}

/// Creation, change, ticks a second, length.
fn clock(timescale: u32, length: u64, is_wide: bool) -> Vec<u8> {
    if is_wide {
        let head = [&[1, 0, 0, 0][..], &[0; 16], &timescale.to_be_bytes()];
        return [head.concat(), length.to_be_bytes().to_vec()].concat();
    }
    numbers(&[
        0,
        0,
        0,
        timescale,
        u32::try_from(length).unwrap_or(u32::MAX),
    ])
}

/// The header of a movie that claims a length; the probe shall not believe it.
pub(crate) fn mvhd(claimed: u64, is_wide: bool) -> Vec<u8> {
    let rest = [0; 80];
    boxed(
        b"mvhd",
        &[clock(MOVIE_TICKS, claimed, is_wide), rest.to_vec()].concat(),
    )
}

fn tkhd(track: &Track) -> Vec<u8> {
    const ONE: u32 = 0x1_0000;
    let head = if track.is_wide {
        [numbers(&[0x0100_0007, 0, 0, 0, 0, track.id, 0]), vec![0; 8]].concat()
    } else {
        numbers(&[7, 0, 0, track.id, 0, 0])
    };
    let matrix = if track.is_turned {
        [0, ONE, 0, ONE.wrapping_neg(), 0, 0, 0, 0, 0x4000_0000]
    } else {
        [ONE, 0, 0, 0, ONE, 0, 0, 0, 0x4000_0000]
    };
    let (width, height) = track.size;
    let size = numbers(&[u32::from(width) << 16, u32::from(height) << 16]);
    boxed(
        b"tkhd",
        &[head, vec![0; 16], numbers(&matrix), size].concat(),
    )
}

fn elst(track: &Track) -> Vec<u8> {
    let version = u32::from(track.is_wide) << 24;
    let mut body = numbers(&[version, u32::try_from(track.edits.len()).unwrap()]);
    for (length, from, rate) in &track.edits {
        if track.is_wide {
            body.extend(length.to_be_bytes());
            body.extend(from.to_be_bytes());
        } else {
            body.extend(u32::try_from(*length).unwrap().to_be_bytes());
            body.extend(i32::try_from(*from).unwrap().to_be_bytes());
        }
        body.extend(rate.to_be_bytes());
        body.extend([0, 0]);
    }
    boxed(b"edts", &boxed(b"elst", &body))
}

fn stsd(track: &Track) -> Vec<u8> {
    let (width, height) = track.size;
    let sides = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let entry = [vec![0; 6], vec![0, 1], vec![0; 16], sides, vec![0; 50]].concat();
    boxed(
        b"stsd",
        &[numbers(&[0, 1]), boxed(b"avc1", &entry)].concat(),
    )
}

pub(crate) fn stts(samples: &[(u32, u32)]) -> Vec<u8> {
    let mut body = numbers(&[0, u32::try_from(samples.len()).unwrap()]);
    for (count, each) in samples {
        body.extend(numbers(&[*count, *each]));
    }
    boxed(b"stts", &body)
}

pub(crate) fn trak(track: &Track) -> Vec<u8> {
    let length = track.samples.iter();
    let length: u64 = length
        .map(|(count, each)| u64::from(*count) * u64::from(*each))
        .sum();
    let mdhd = [clock(track.timescale, length, track.is_wide), vec![0; 4]].concat();
    let hdlr = [&[0; 8][..], track.handler, &[0; 13]].concat();
    let mut table = [stsd(track), stts(&track.samples)].concat();
    if let Some(shift) = track.shift {
        let [a, b, c, d] = shift.to_be_bytes();
        let shift = u32::from_be_bytes([a, b, c, d]);
        table.extend(boxed(b"ctts", &numbers(&[0, 1, 1, shift])));
    }
    // Tables that are of no interest, and larger than those that are.
    table.extend(boxed(b"stsz", &[0; 3000]));
    let minf = boxed(
        b"minf",
        &[boxed(b"vmhd", &[0; 12]), boxed(b"stbl", &table)].concat(),
    );
    let mdia = [boxed(b"mdhd", &mdhd), boxed(b"hdlr", &hdlr), minf].concat();
    let mut body = tkhd(track);
    if !track.edits.is_empty() {
        body.extend(elst(track));
    }
    body.extend(boxed(b"mdia", &mdia));
    boxed(b"trak", &body)
}

/// What stands in the box of a movie. The claimed length is wrong on purpose.
pub(crate) fn movie_body(tracks: &[Track]) -> Vec<u8> {
    let is_wide = tracks.iter().any(|track| track.is_wide);
    let mut body = mvhd(77_777, is_wide);
    body.extend(tracks.iter().flat_map(trak));
    body.extend(boxed(b"udta", &[0; 100]));
    body
}

pub(crate) fn moov(tracks: &[Track]) -> Vec<u8> {
    boxed(b"moov", &movie_body(tracks))
}

// === fragments ===

/// The box of a movie that goes on in fragments; each track with the length of its samples.
pub(crate) fn moov_to_come(
    tracks: &[Track],
    defaults: &[(u32, u32)],
    duration: Option<u64>,
) -> Vec<u8> {
    let mut extends = Vec::new();
    if let Some(duration) = duration {
        let body = [&[1, 0, 0, 0][..], &duration.to_be_bytes()].concat();
        extends.extend(boxed(b"mehd", &body));
    }
    for (id, each) in defaults {
        extends.extend(boxed(b"trex", &numbers(&[0, *id, 1, *each, 0, 0])));
    }
    let body = [movie_body(tracks), boxed(b"mvex", &extends)].concat();
    boxed(b"moov", &body)
}

/// The part of a track in a fragment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traf {
    pub(crate) id: u32,
    pub(crate) default: Option<u32>,
    pub(crate) start: Option<u64>,
    /// How many samples that tell no length of their own.
    pub(crate) plain: u32,
    /// Samples that tell it, and how much later they are shown.
    pub(crate) timed: Vec<(u32, i32)>,
}

pub(crate) fn moof(parts: &[Traf]) -> Vec<u8> {
    let mut body = boxed(b"mfhd", &numbers(&[0, 1]));
    for part in parts {
        let mut traf = match part.default {
            Some(each) => boxed(b"tfhd", &numbers(&[0x2_000a, part.id, 1, each])),
            None => boxed(b"tfhd", &numbers(&[0x2_0001, part.id, 0, 0])),
        };
        if let Some(start) = part.start {
            let time = [&[1, 0, 0, 0][..], &start.to_be_bytes()].concat();
            traf.extend(boxed(b"tfdt", &time));
        }
        if part.plain > 0 {
            let sizes = vec![9; usize::try_from(part.plain).unwrap()];
            let run = [numbers(&[0x205, part.plain, 0, 0]), numbers(&sizes)].concat();
            traf.extend(boxed(b"trun", &run));
        }
        if !part.timed.is_empty() {
            let mut run = numbers(&[0xf01, u32::try_from(part.timed.len()).unwrap(), 0]);
            for (length, shift) in &part.timed {
                run.extend(numbers(&[*length, 100, 0]));
                run.extend(shift.to_be_bytes());
            }
            traf.extend(boxed(b"trun", &run));
        }
        body.extend(boxed(b"traf", &traf));
    }
    boxed(b"moof", &body)
}

/// An index of a track: how many bytes each part has, and how long it is.
pub(crate) fn sidx(id: u32, timescale: u32, gap: u32, parts: &[(usize, u32)]) -> Vec<u8> {
    let count = u32::try_from(parts.len()).unwrap();
    let mut body = numbers(&[0, id, timescale, 0, gap, count]);
    for (bytes, length) in parts {
        body.extend(numbers(&[
            u32::try_from(*bytes).unwrap(),
            *length,
            0x9000_0000,
        ]));
    }
    boxed(b"sidx", &body)
}
