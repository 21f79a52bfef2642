//! A gateway in a process of its own, killed, frozen and cut off under load; then everything that
//! clients were told is compared with what the upstream served and with the books.

mod process_harness;
mod video_chaos;
mod formats;
mod load;
mod media;
mod prices;
mod price_reload;
mod fault_matrix;
mod social;
mod chat_chaos;
mod streams;
mod client_view;
mod cluster;
mod checker;
