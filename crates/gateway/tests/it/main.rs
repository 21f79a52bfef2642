//! The gateway over HTTP, against a real PostgreSQL and simulators of upstreams.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod callers;
#[cfg(test)]
mod desk;
#[cfg(test)]
mod fidelity;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod house;
#[cfg(test)]
mod leaving;
#[cfg(test)]
mod money;
#[cfg(test)]
mod rows;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod upstreams;
