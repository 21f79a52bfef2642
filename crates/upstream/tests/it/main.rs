//! The client against real servers and real proxies on this machine.

#[cfg(test)]
mod aws;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod certificates;
#[cfg(test)]
mod frames;
#[cfg(test)]
mod google;
#[cfg(test)]
mod http1;
#[cfg(test)]
mod http2;
#[cfg(test)]
mod programs;
#[cfg(test)]
mod proxies;
#[cfg(test)]
mod recording;
#[cfg(test)]
mod safe_fetch;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod tls;
