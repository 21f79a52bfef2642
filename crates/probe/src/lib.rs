//! Lengths and sizes of media, without I/O of its own: audio files that customers upload ([`measure`]),
//! speech that is measured while it is relayed ([`StreamMeter`]), and videos and images behind a URL
//! ([`visual`]). It knows no money and no model.
//!
//! # The length of audio
//!
//! The length is that of the samples which a player gives out:
//!
//! - **Packets that are there.** Each packet, frame or block of samples is read and counted with
//!   the samples it decodes to. What a header claims about the whole (sizes, frame counts, totals,
//!   durations, granules) is never the length. Of a file that was cut off, the packets that are whole
//!   count.
//! - **Less what the stream declares as no sound**: the delay and padding of its encoder, as far as its
//!   format can declare it. An MP3 may take away what its LAME tag can hold, 4095 samples at each end, and
//!   the end only if the tag counted the frames right. Ogg and Matroska may take away Opus' pre-skip,
//!   and at the end one packet. An MP4 may take away the priming of a codec at the start and a part of
//!   its last packet; an edit list that hides more is not believed, so it makes nothing cheaper, and
//!   `iTunSMPB` is not read at all.
//! - **What may be no sound and is not declared is told apart.** Bare AAC (ADTS) cannot declare its encoder's delay
//!   and padding, and an MP4 without an edit list or a Matroska without a delay does not: [`Measurement::undeclared`] is the most that encoders
//!   add, 3136 samples, and is not billed. A second of sound is one second in every container, and no caller gets
//!   more than those samples for nothing.
//! - **Of several audio tracks, the longest.** Links of a chained Ogg stream play one after the other
//!   and add up.
//! - **Or none.** What cannot be counted by packets is refused, not guessed.
//!
//! # Why no library
//!
//! A length is a price, so it is counted by packets. The libraries that were tried take it from headers
//! or time stamps, read tables as large as a file claims, or panic on hostile input; none measures a
//! stream while it passes. docs/dev/dependencies.md lists them with what they did.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::string_slice,
        clippy::cast_possible_truncation
    )
)]

mod adts_mpeg;
mod bounded_reader;
mod byte_reader;
mod codecs;
mod flac;
mod incremental;
mod length;
mod measure;
mod measurement;
mod mkv;
mod mp4;
mod ogg;
mod sniff;
mod speech;
mod step;
mod stream;
mod stream_meter;
mod tags;
pub mod visual;
mod wav;

pub use length::Length;
pub use measure::measure;
pub use measurement::{Codec, Container, MeasureError, Measurement};
pub use speech::{DEFAULT_PCM_RATE, SpeechFormat};
pub use stream_meter::StreamMeter;
