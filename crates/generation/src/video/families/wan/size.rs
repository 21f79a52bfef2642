//! The sizes of family A: any on text-to-video, those of the two sold tiers on the others.

use trunkline_catalog::{FieldNote, FieldTreatment, RequestError};

use super::super::dashscope::{self, DEFAULT_FRAME, DEFAULT_SIZE, SIZE_FOLDED};
use crate::video::field_reader::FieldReader;
use crate::video::resolutions::{Frame, Tier, frame_of};

/// A text-to-video's size: any that is well formed.
pub(super) fn any_size(reader: &mut FieldReader<'_>) -> Result<(String, Frame), RequestError> {
    let Some((text, width, height)) = dashscope::size_or_default(reader)? else {
        return Ok((DEFAULT_SIZE.to_owned(), DEFAULT_FRAME));
    };
    let in_table = frame_of(width, height).filter(|frame| frame.tier != Tier::P480);
    let frame = in_table.unwrap_or_else(|| {
        let frame = dashscope::covering(width, height);
        let value = format!("{}*{}", frame.width, frame.height);
        let why = format!(
            "the upstream has no such frame: it is made and billed as {} {}",
            frame.tier, frame.ratio
        );
        let note = FieldNote::new("size", FieldTreatment::Rewritten, SIZE_FOLDED, why);
        reader.say(note.with_fix(format!("write {value}")).with_value(value));
        frame
    });
    Ok((text.to_owned(), frame))
}

/// The others' size: one of the table, and not of 480P.
pub(super) fn sold_size(reader: &mut FieldReader<'_>) -> Result<(String, Frame), RequestError> {
    let Some((text, width, height)) = dashscope::size_or_default(reader)? else {
        return Ok((DEFAULT_SIZE.to_owned(), DEFAULT_FRAME));
    };
    let frame = frame_of(width, height).ok_or_else(|| dashscope::not_in_table(text, Tier::P720))?;
    match frame.tier {
        Tier::P480 => {
            let message = format!("{text} is 480P, which has no price on this model");
            let fix = "write 1280*720 or 1920*1080";
            return Err(RequestError::new("tier_unpriced", "size", message).with_fix(fix));
        }
        Tier::P720 | Tier::P1080 => {}
    }
    dashscope::say_folded(reader, frame);
    Ok((text.to_owned(), frame))
}
