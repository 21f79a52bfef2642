//! JPEG: segment after segment until the frame that says the size. A picture inside EXIF is passed
//! over with its segment; what EXIF says of its turning counts, since the size is told as shown.

use super::fields::Fields;
use super::window::{Pause, Window};
use super::{Format, MAX_BOXES, Measured, Reason, Size};

/// The tag of the orientation, and the first of those that lie on their side.
const ORIENTATION: u16 = 0x0112;
const FIRST_ON_ITS_SIDE: u16 = 5;
const LAST_ON_ITS_SIDE: u16 = 8;

#[derive(Debug)]
pub(super) struct Jpeg {
    at: u64,
    segments: u32,
    is_turned: bool,
}

impl Default for Jpeg {
    fn default() -> Self {
        Self {
            at: 2,
            segments: 0,
            is_turned: false,
        }
    }
}

impl Jpeg {
    pub(super) fn run(&mut self, window: &Window) -> Result<Measured, Pause> {
        loop {
            self.segments = self.segments.saturating_add(1);
            if self.segments > MAX_BOXES {
                return Err(Reason::TooManyParts.into());
            }
            if let Some(size) = self.segment(window)? {
                let size = if self.is_turned { size.turned() } else { size };
                return Ok(Measured::picture(Format::Jpeg, None, size));
            }
        }
    }

    /// Reads one segment, and goes behind it only when all of it that counts was there.
    fn segment(&mut self, window: &Window) -> Result<Option<Size>, Pause> {
        let mut fields = Fields::new(window.read(self.at, 4)?);
        let (mark, code) = (fields.u8()?, fields.u8()?);
        if mark != 0xff {
            return Err(Reason::Malformed.into());
        }
        match code {
            // Fill bytes before a marker.
            0xff => self.at = self.at.saturating_add(1),
            0x01 | 0xd0..=0xd7 => self.at = self.at.saturating_add(2),
            // Data before a frame, or the end, or a second start.
            0x00 | 0xd8..=0xda => return Err(Reason::NoSize.into()),
            _ => {
                let length = u64::from(fields.u16()?);
                let inner = length.checked_sub(2).ok_or(Reason::Malformed)?;
                let from = self.at.saturating_add(4);
                // All frames but the tables (c4), the reserved one (c8) and arithmetic's (cc).
                if matches!(code, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf) {
                    return frame(window.read_of(self.at, from, 5)?)
                        .map(Some)
                        .map_err(Pause::Stop);
                }
                if code == 0xe1 && turned_by(window.read_of(self.at, from, inner)?).unwrap_or(false)
                {
                    self.is_turned = true;
                }
                self.at = from.saturating_add(inner);
            }
        }
        Ok(None)
    }
}

fn frame(bytes: &[u8]) -> Result<Size, Reason> {
    let mut fields = Fields::new(bytes);
    fields.skip(1)?;
    let (height, width) = (fields.u16()?, fields.u16()?);
    // A height of nothing is told behind the data, which is too late for us.
    Size::new(width.into(), height.into()).ok_or(Reason::NoSize)
}

/// Whether EXIF says that the picture lies on its side; none if it is no EXIF or broken.
fn turned_by(bytes: &[u8]) -> Option<bool> {
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
            let turning = two(at.checked_add(8)?)?;
            return Some((FIRST_ON_ITS_SIDE..=LAST_ON_ITS_SIDE).contains(&turning));
        }
    }
    None
}
