//! Lengths of real files, of files that lie about themselves, and of what is no file at all. The truth
//! comes from ffmpeg: `corpus/make.sh` made the files and wrote down what its decoder gives out.

#[cfg(test)]
mod adts_mpeg;
#[cfg(test)]
mod chained;
#[cfg(test)]
mod corpus;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod matroska;
#[cfg(test)]
mod mp4;
#[cfg(test)]
mod random;
#[cfg(test)]
mod sparse;
#[cfg(test)]
mod support;
#[cfg(test)]
mod visual;
#[cfg(test)]
mod waves;
