//! The simulator over a real socket, seen by a client that reads bytes and trusts nothing.

#[cfg(test)]
mod client;
#[cfg(test)]
mod completions;
#[cfg(test)]
mod desk;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod faults_early;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod leaving;
#[cfg(test)]
mod refusals;
