//! Images, speech and transcription: vendors by folders of cases, reading and planning by tables.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod images;
#[cfg(test)]
mod json_view;
#[cfg(test)]
mod random;
#[cfg(test)]
mod records;
#[cfg(test)]
mod render;
#[cfg(test)]
mod speech;
#[cfg(test)]
mod transcription;
#[cfg(test)]
mod video;
