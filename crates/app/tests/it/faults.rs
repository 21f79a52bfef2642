//! A gateway in a process of its own, killed, frozen and cut off under load; then everything that
//! clients were told is compared with what the upstream served and with the books.

mod arena;
mod films;
mod formats;
mod load;
mod media;
mod prices;
mod reload;
mod rows;
mod social;
mod storm;
mod streams;
mod told;
mod town;
mod verdict;
