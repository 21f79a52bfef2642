//! A gateway in a process of its own, killed, frozen and cut off under load; then everything that
//! clients were told is compared with what the upstream served and with the books.

#[cfg(test)]
mod arena;
#[cfg(test)]
mod films;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod load;
#[cfg(test)]
mod media;
#[cfg(test)]
mod prices;
#[cfg(test)]
mod reload;
#[cfg(test)]
mod rows;
#[cfg(test)]
mod social;
#[cfg(test)]
mod storm;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod told;
#[cfg(test)]
mod town;
#[cfg(test)]
mod verdict;
