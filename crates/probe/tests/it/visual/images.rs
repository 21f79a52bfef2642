//! Pictures, written by hand.

use trunkline_probe::visual::{Format, ProbeError};

use crate::visual::driver::measure;
use crate::visual::writer::{boxed, ftyp, mdat, numbers};

fn png(width: u32, height: u32) -> Vec<u8> {
    let head = [
        b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec(),
        numbers(&[width, height]),
    ];
    [head.concat(), vec![8, 6, 0, 0, 0, 1, 2, 3, 4]].concat()
}

fn gif(width: u16, height: u16) -> Vec<u8> {
    [
        b"GIF89a".to_vec(),
        width.to_le_bytes().to_vec(),
        height.to_le_bytes().to_vec(),
        vec![0; 9],
    ]
    .concat()
}

fn bmp(header: u32, sides: &[u8]) -> Vec<u8> {
    [
        b"BM".to_vec(),
        vec![0; 12],
        header.to_le_bytes().to_vec(),
        sides.to_vec(),
        vec![0; 40],
    ]
    .concat()
}

fn webp(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
    [
        b"RIFF\0\0\0\0WEBP".to_vec(),
        kind.to_vec(),
        vec![0; 4],
        body.to_vec(),
        vec![0; 20],
    ]
    .concat()
}

fn segment(code: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 2).unwrap();
    [&[0xff, code][..], &length.to_be_bytes(), body].concat()
}

fn frame(code: u8, width: u16, height: u16) -> Vec<u8> {
    let sides = [height.to_be_bytes(), width.to_be_bytes()].concat();
    segment(code, &[vec![8], sides, vec![3; 10]].concat())
}

/// EXIF with a turning, and a picture of its own inside.
fn exif(turning: u16, is_little: bool) -> Vec<u8> {
    let inner = [vec![0xff, 0xd8], frame(0xc0, 160, 120)].concat();
    let mut body = b"Exif\0\0".to_vec();
    if is_little {
        body.extend(b"II*\0\x08\0\0\0\x02\0\x0f\x01\x02\0\0\0\0\0\0\0\0\0\x12\x01\x03\0\x01\0\0\0");
        body.extend(turning.to_le_bytes());
    } else {
        body.extend(b"MM\0*\0\0\0\x08\0\x02\x01\x0f\0\x02\0\0\0\0\0\0\0\0\x01\x12\0\x03\0\0\0\x01");
        body.extend(turning.to_be_bytes());
    }
    body.extend([0; 6]);
    segment(0xe1, &[body, inner, vec![0; 20_000]].concat())
}

fn jpeg(segments: &[Vec<u8>]) -> Vec<u8> {
    [
        vec![0xff, 0xd8],
        segments.concat(),
        vec![0xff, 0xda, 0, 8, 0, 0],
    ]
    .concat()
}

fn heic(brand: &[u8; 4], sizes: &[(u32, u32)]) -> Vec<u8> {
    let properties: Vec<u8> = sizes
        .iter()
        .flat_map(|(width, height)| boxed(b"ispe", &numbers(&[0, *width, *height])))
        .collect();
    let iprp = boxed(b"iprp", &boxed(b"ipco", &properties));
    let meta = [numbers(&[0]), boxed(b"hdlr", &[0; 25]), iprp].concat();
    [ftyp(brand), boxed(b"meta", &meta), mdat(200)].concat()
}

#[test]
fn the_size_of_every_picture_is_the_true_one() {
    let jfif = || segment(0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    let tables = || segment(0xdb, &[0; 65]);
    let sides = |width: i32, height: i32| [width.to_le_bytes(), height.to_le_bytes()].concat();
    let lossless = |width: u32, height: u32| ((width - 1) | ((height - 1) << 14)).to_le_bytes();
    let three = |side: u32| (side - 1).to_le_bytes()[..3].to_vec();
    let rows = [
        ("PNG", png(640, 480), Format::Png, (640, 480)),
        ("PNG, one dot", png(1, 1), Format::Png, (1, 1)),
        ("GIF", gif(320, 200), Format::Gif, (320, 200)),
        ("BMP", bmp(40, &sides(800, 600)), Format::Bmp, (800, 600)),
        (
            "BMP from top to bottom",
            bmp(124, &sides(800, -600)),
            Format::Bmp,
            (800, 600),
        ),
        (
            "BMP of OS/2",
            bmp(12, &[0x20, 3, 0x58, 2]),
            Format::Bmp,
            (800, 600),
        ),
        (
            "WebP",
            webp(
                b"VP8 ",
                &[0x10, 0, 0, 0x9d, 1, 0x2a, 0x80, 0x42, 0xe0, 0x81],
            ),
            Format::WebP,
            (640, 480),
        ),
        (
            "WebP without loss",
            webp(
                b"VP8L",
                &[vec![0x2f], lossless(16_384, 3).to_vec()].concat(),
            ),
            Format::WebP,
            (16_384, 3),
        ),
        (
            "WebP with more",
            webp(b"VP8X", &[vec![0; 4], three(70_000), three(2)].concat()),
            Format::WebP,
            (70_000, 2),
        ),
        (
            "JPEG",
            jpeg(&[jfif(), tables(), frame(0xc0, 1920, 1080)]),
            Format::Jpeg,
            (1920, 1080),
        ),
        (
            "JPEG, progressive",
            jpeg(&[jfif(), tables(), frame(0xc2, 1920, 1080)]),
            Format::Jpeg,
            (1920, 1080),
        ),
        (
            "JPEG, tables first",
            jpeg(&[segment(0xc4, &[9; 400]), frame(0xc1, 5, 4)]),
            Format::Jpeg,
            (5, 4),
        ),
        (
            "JPEG, filled",
            jpeg(&[vec![0xff; 9], frame(0xc0, 5, 4)]),
            Format::Jpeg,
            (5, 4),
        ),
        (
            "JPEG, EXIF upright",
            jpeg(&[exif(1, true), frame(0xc0, 400, 300)]),
            Format::Jpeg,
            (400, 300),
        ),
        (
            "JPEG, EXIF upside down",
            jpeg(&[exif(3, false), frame(0xc0, 400, 300)]),
            Format::Jpeg,
            (400, 300),
        ),
        (
            "JPEG, EXIF on its side",
            jpeg(&[exif(6, true), frame(0xc0, 400, 300)]),
            Format::Jpeg,
            (300, 400),
        ),
        (
            "JPEG, EXIF on its other side",
            jpeg(&[exif(8, false), frame(0xc2, 400, 300)]),
            Format::Jpeg,
            (300, 400),
        ),
        (
            "JPEG, broken EXIF",
            jpeg(&[
                segment(0xe1, b"Exif\0\0II*\0\xff\xff\xff\xff"),
                frame(0xc0, 400, 300),
            ]),
            Format::Jpeg,
            (400, 300),
        ),
        (
            "JPEG, far behind profiles",
            jpeg(&[segment(0xe2, &[0; 65_000]).repeat(5), frame(0xc0, 7, 8)]),
            Format::Jpeg,
            (7, 8),
        ),
        (
            "HEIC",
            heic(b"heic", &[(512, 512), (4032, 3024), (320, 240)]),
            Format::Heif,
            (4032, 3024),
        ),
        ("AVIF", heic(b"avif", &[(64, 48)]), Format::Heif, (64, 48)),
    ];
    for (row, file, format, (width, height)) in &rows {
        let found = measure(row, file).unwrap_or_else(|reason| panic!("{row}: {reason}"));
        let size = found.size.unwrap();
        assert_eq!(
            (found.format, size.width, size.height),
            (*format, *width, *height),
            "{row}"
        );
        assert_eq!(found.length_ms, None, "{row}");
    }
    println!("{} pictures measured", rows.len());
}

#[test]
fn a_picture_without_a_size_has_none() {
    let scan = vec![0xff, 0xda, 0, 8, 0, 0, 0, 0, 0, 0];
    let rows: Vec<(&str, Vec<u8>, ProbeError)> = vec![
        ("PNG without a width", png(0, 5), ProbeError::NoSize),
        ("PNG beyond its limit", png(u32::MAX, 5), ProbeError::NoSize),
        (
            "PNG with another chunk",
            png(5, 5)
                .iter()
                .map(|byte| if *byte == b'I' { b'J' } else { *byte })
                .collect(),
            ProbeError::Malformed,
        ),
        (
            "PNG that is cut",
            png(5, 5)[..20].to_vec(),
            ProbeError::Truncated,
        ),
        (
            "BMP with a strange header",
            bmp(41, &[0; 8]),
            ProbeError::UnknownFormat,
        ),
        (
            "BMP without a height",
            bmp(40, &[1, 0, 0, 0, 0, 0, 0, 0]),
            ProbeError::NoSize,
        ),
        (
            "WebP of a strange kind",
            webp(b"VP9 ", &[0; 10]),
            ProbeError::Malformed,
        ),
        (
            "WebP that is no key frame",
            webp(b"VP8 ", &[0x11, 0, 0, 0x9d, 1, 0x2a, 1, 0, 1, 0]),
            ProbeError::Malformed,
        ),
        (
            "JPEG with data first",
            [vec![0xff, 0xd8], scan].concat(),
            ProbeError::NoSize,
        ),
        (
            "JPEG without a height",
            jpeg(&[frame(0xc0, 5, 0)]),
            ProbeError::NoSize,
        ),
        (
            "JPEG that ends",
            jpeg(&[segment(0xe0, &[0; 9])])[..14].to_vec(),
            ProbeError::Truncated,
        ),
        (
            "JPEG without markers",
            jpeg(&[vec![1; 9]]),
            ProbeError::UnknownFormat,
        ),
        (
            "JPEG that loses its markers",
            jpeg(&[segment(0xe0, &[]), vec![1; 9]]),
            ProbeError::Malformed,
        ),
        (
            "HEIC without a size",
            heic(b"heic", &[]),
            ProbeError::NoSize,
        ),
    ];
    for (row, file, reason) in &rows {
        assert_eq!(measure(row, file), Err(*reason), "{row}");
    }
}
