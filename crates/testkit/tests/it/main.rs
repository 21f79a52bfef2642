//! What the testkit promises: that engines break when told, come back, and leave nothing.

#[cfg(test)]
mod databases;
#[cfg(test)]
mod leftovers;
#[cfg(test)]
mod nats;
#[cfg(test)]
mod netns;
#[cfg(test)]
mod postgres;
#[cfg(test)]
mod privileges;
#[cfg(test)]
mod redis;
#[cfg(test)]
mod tcp_proxy;
