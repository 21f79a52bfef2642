//! Family B: Seedance on Ark. Two variants: `2_5`, and `2_0` with fast and mini, which are records of
//! their own.
//!
//! 1. Reference images stand in `images`, a single one in `input_reference`; both are kept, that of
//!    `input_reference` first, then those of `images`, then the parts of `metadata.content`.
//! 2. The length is `seconds` (a text), else `duration`, else five seconds. A `duration` that loses
//!    against another `seconds` is ignored. Below four seconds, or above the record's limit, is
//!    refused; -1 (the vendor chooses) cannot be priced.
//! 3. `metadata.resolution` is `480p` or `720p` (not given: `720p`), `metadata.ratio` a ratio of the
//!    vendor's, `metadata.generate_audio` is true where it is not given. `watermark` goes as false
//!    unless requested; `return_last_frame`, and on 2.5 `output_format` and
//!    `omni_reference_task_type`, go on. Every other key of `metadata` is ignored.
//! 4. `metadata.content` is a list of parts, sent as they are but for texts, which `prompt` replaces.
//! 5. A part without a role is the first frame: the video has its shape, and a ratio beside it is
//!    refused as the vendor does (`adaptive` means the same, and is no other ratio).
//! 6. With a role on every part the request is one for references: as many images, clips and
//!    recordings as the record says. On the 2.0 line a recording needs an image or a clip beside it.
//! 7. Images at the top have no role. One alone is the first frame; two or more, or any beside a part
//!    with a role, become `reference_image`. One beside an image part without a role is refused:
//!    the first frame is ambiguous.
//! 8. A text alone is text-to-video on every version. Edit and extend tasks are billed by their
//!    source and cannot be priced; beside a clip, the task type `reference` is sent to 2.5.
//! 9. Clips that go in are billed like seconds that come out. Together they are at most as long as the
//!    longest video; where one is not measured, that is what is held.

mod bill;
mod clips;
mod limits;
mod parts;
mod plan;

use super::Family;

pub(super) const FAMILY: Family = Family {
    spec_letter: "b",
    variants: &["2_5", "2_0"],
    plan: plan::plan,
    bill: bill::bill,
};

const PROTOCOL: &str = "ark_video";
