//! JPEG: segment after segment until the frame header with the size. The thumbnail in EXIF is skipped
//! with its segment; the orientation in EXIF counts, since the size is the one that is shown.

use super::byte_window::{ByteWindow, Pause};
use super::{Format, MAX_BOXES, MediaInfo, ProbeError, Size};

/// The tag of the orientation, and the orientations that swap width and height.
const ORIENTATION: u16 = 0x0112;
const FIRST_SWAPPED: u16 = 5;
const LAST_SWAPPED: u16 = 8;

#[derive(Debug)]
pub(super) struct Jpeg {
    at: u64,
    segments: u32,
    is_rotated: bool,
}

impl Default for Jpeg {
    fn default() -> Self {
        Self {
            at: 2,
            segments: 0,
            is_rotated: false,
        }
    }
}

impl Jpeg {
    pub(super) fn run(&mut self, window: &ByteWindow) -> Result<MediaInfo, Pause> {
        loop {
            self.segments = self.segments.saturating_add(1);
            if self.segments > MAX_BOXES {
                return Err(ProbeError::TooManyParts.into());
            }
            if let Some(size) = self.segment(window)? {
                let size = if self.is_rotated {
                    size.rotated()
                } else {
                    size
                };
                return Ok(MediaInfo::image(Format::Jpeg, None, size));
            }
        }
    }

    /// Reads one segment, and moves behind it only when all of it that counts is there.
    fn segment(&mut self, window: &ByteWindow) -> Result<Option<Size>, Pause> {
        let bytes = window.read(self.at, 4)?.first_chunk();
        let Some([0xff, code, high, low]) = bytes.copied() else {
            return Err(ProbeError::Malformed.into());
        };
        match code {
            // Fill bytes before a marker.
            0xff => self.at = self.at.saturating_add(1),
            0x01 | 0xd0..=0xd7 => self.at = self.at.saturating_add(2),
            // Data before a frame, or the end, or a second start.
            0x00 | 0xd8..=0xda => return Err(ProbeError::NoSize.into()),
            _ => {
                let length = u64::from(u16::from_be_bytes([high, low]));
                let inner = length.checked_sub(2).ok_or(ProbeError::Malformed)?;
                let from = self.at.saturating_add(4);
                // All frames but the tables (c4), the reserved one (c8) and arithmetic's (cc).
                if matches!(code, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf) {
                    return frame_size(window.read_from(self.at, from, 5)?)
                        .map(Some)
                        .map_err(Pause::Stop);
                }
                if code == 0xe1
                    && rotated_by(window.read_from(self.at, from, inner)?).unwrap_or(false)
                {
                    self.is_rotated = true;
                }
                self.at = from.saturating_add(inner);
            }
        }
        Ok(None)
    }
}

fn frame_size(bytes: &[u8]) -> Result<Size, ProbeError> {
    let [_, height @ .., left, right] = *bytes.first_chunk::<5>().ok_or(ProbeError::Malformed)?;
    let width = u16::from_be_bytes([left, right]);
    // A height of zero stands behind the data, which is too late.
    Size::new(width.into(), u16::from_be_bytes(height).into()).ok_or(ProbeError::NoSize)
}

/// Whether EXIF swaps width and height; none if it is no EXIF or broken.
fn rotated_by(bytes: &[u8]) -> Option<bool> {
    let tiff = bytes.strip_prefix(b"Exif\0\0")?;
    let is_little = match tiff.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let two = |at: usize| -> Option<u16> {
        let found: [u8; 2] = tiff.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if is_little {
            u16::from_le_bytes(found)
        } else {
            u16::from_be_bytes(found)
        })
    };
    let four: [u8; 4] = tiff.get(4..8)?.try_into().ok()?;
    let first = if is_little {
        u32::from_le_bytes(four)
    } else {
        u32::from_be_bytes(four)
    };
    let first = usize::try_from(first).ok()?;
    let entries = usize::from(two(first)?);
    for entry in 0..entries {
        let at = first.checked_add(2)?.checked_add(entry.checked_mul(12)?)?;
        if two(at)? == ORIENTATION {
            let orientation = two(at.checked_add(8)?)?;
            return Some((FIRST_SWAPPED..=LAST_SWAPPED).contains(&orientation));
        }
    }
    None
}
