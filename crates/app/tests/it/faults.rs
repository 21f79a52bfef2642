//! A gateway in a process of its own, killed, frozen and cut off under load; then everything that
//! clients were told is compared with what the upstream served and with the books.

mod chat_chaos;
mod checker;
mod client_view;
mod cluster;
mod fault_matrix;
mod formats;
mod load;
mod losses;
mod media;
mod neighbours;
mod price_reload;
mod prices;
mod process_harness;
mod silent_sockets;
mod social;
mod streams;
mod video_chaos;
