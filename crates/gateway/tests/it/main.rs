//! The gateway over HTTP, against a real PostgreSQL and simulators of upstreams.

#[cfg(test)]
mod access;
#[cfg(test)]
mod again;
#[cfg(test)]
mod again_broken;
#[cfg(test)]
mod again_streams;
#[cfg(test)]
mod answers;
#[cfg(test)]
mod callers;
#[cfg(test)]
mod canary;
#[cfg(test)]
mod collector;
#[cfg(test)]
mod continuing;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod couples;
#[cfg(test)]
mod desk;
#[cfg(test)]
mod door;
#[cfg(test)]
mod events;
#[cfg(test)]
mod fidelity;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod formats_clients;
#[cfg(test)]
mod formats_errors;
#[cfg(test)]
mod formats_faces;
#[cfg(test)]
mod formats_faults;
#[cfg(test)]
mod formats_headers;
#[cfg(test)]
mod formats_money;
#[cfg(test)]
mod formats_routes;
#[cfg(test)]
mod formats_upstreams;
#[cfg(test)]
mod gathered;
#[cfg(test)]
mod got;
#[cfg(test)]
mod growth;
#[cfg(test)]
mod heard;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod house;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod leaving;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod limits_nodes;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod log;
#[cfg(test)]
mod marks;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod money;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod outside;
#[cfg(test)]
mod pairs;
#[cfg(test)]
mod pipeline;
#[cfg(test)]
mod played;
#[cfg(test)]
mod prices;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod quotes;
#[cfg(test)]
mod random;
#[cfg(test)]
mod rows;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod scale;
#[cfg(test)]
mod small;
#[cfg(test)]
mod social;
#[cfg(test)]
mod spoilt;
#[cfg(test)]
mod studio;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod tongue;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod upstreams;
#[cfg(test)]
mod usage_report;
#[cfg(test)]
mod videos;
#[cfg(test)]
mod videos_again;
#[cfg(test)]
mod videos_cancel;
#[cfg(test)]
mod videos_files;
#[cfg(test)]
mod videos_form;
#[cfg(test)]
mod videos_late;
#[cfg(test)]
mod videos_media;
#[cfg(test)]
mod videos_money;
#[cfg(test)]
mod videos_quotes;
#[cfg(test)]
mod videos_shapes;
#[cfg(test)]
mod videos_steps;
#[cfg(test)]
mod videos_torn;
#[cfg(test)]
mod webhooks;
#[cfg(test)]
mod webhooks_hostile;
#[cfg(test)]
mod webhooks_receiver;
#[cfg(test)]
mod webhooks_tasks;
#[cfg(test)]
mod webhooks_time;
#[cfg(test)]
mod wishes;
