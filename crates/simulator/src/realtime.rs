//! Realtime voice over WebSocket: one connection, one session, many responses. OpenAI's and Azure's, and the
//! same with what xAI, Zhipu and Alibaba spell otherwise.
//!
//! `handshake` lets a client in, `connection` owns the socket, and `engine` decides without a socket what
//! is sent next. What was served is in `realtime_log`.

mod audio_format;
mod client_events;
mod client_secrets;
mod connection;
mod conversation;
mod engine;
mod event_error;
mod generation;
mod handshake;
mod input_audio;
mod item;
mod outbox;
mod response_object;
mod responses_socket;
mod session_config;
mod session_update;
mod start_response;
mod transcription;
mod turns;
mod usage;
mod vendor;

pub(crate) use client_secrets::{owns, serve};
pub(crate) use connection::{Connection, run};
pub(crate) use handshake::{is_upgrade, serve_upgrade};
