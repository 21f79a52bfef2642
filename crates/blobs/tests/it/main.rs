//! The store as others use it: the same tests against a directory and against a real S3 server, then
//! what only S3 can do wrong.

#[cfg(test)]
mod budget;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod s3;
#[cfg(test)]
mod sealing;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod writing;
