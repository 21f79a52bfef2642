//! The gateway over HTTP, against a real PostgreSQL and simulators of upstreams.

#[cfg(test)]
mod access;
#[cfg(test)]
mod aggregated;
#[cfg(test)]
mod aggregated_equal;
#[cfg(test)]
mod answers;
#[cfg(test)]
mod assertions;
#[cfg(test)]
mod bad_catalog;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod cache_affinity;
#[cfg(test)]
mod callers;
#[cfg(test)]
mod canary;
#[cfg(test)]
mod channel_health;
#[cfg(test)]
mod charges;
#[cfg(test)]
mod client_decode;
#[cfg(test)]
mod client_encode;
#[cfg(test)]
mod collector;
#[cfg(test)]
mod continuing;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod disconnects;
#[cfg(test)]
mod edge;
#[cfg(test)]
mod editing;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod events;
#[cfg(test)]
mod fault_matrix;
#[cfg(test)]
mod fidelity;
#[cfg(test)]
mod fields;
#[cfg(test)]
mod fitted;
#[cfg(test)]
mod format_pairs;
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
mod generation;
#[cfg(test)]
mod growth;
#[cfg(test)]
mod guardrail;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod idempotency;
#[cfg(test)]
mod idempotency_faults;
#[cfg(test)]
mod idempotency_streams;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod key_routes;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod large_model;
#[cfg(test)]
mod leaving;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod limits_channels;
#[cfg(test)]
mod limits_nodes;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod log;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod model_rules;
#[cfg(test)]
mod money;
#[cfg(test)]
mod neighbours;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod options;
#[cfg(test)]
mod pairs;
#[cfg(test)]
mod passthrough;
#[cfg(test)]
mod pipeline;
#[cfg(test)]
mod prices;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod quotes;
#[cfg(test)]
mod random;
#[cfg(test)]
mod readiness;
#[cfg(test)]
mod realtime;
#[cfg(test)]
mod receipts;
#[cfg(test)]
mod recorded_upstream;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod response;
#[cfg(test)]
mod responses_socket;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod scale;
#[cfg(test)]
mod self_info;
#[cfg(test)]
mod settlement;
#[cfg(test)]
mod social;
#[cfg(test)]
mod sold_tools;
#[cfg(test)]
mod spec_continuing;
#[cfg(test)]
mod spec_defaults;
#[cfg(test)]
mod spec_keeping;
#[cfg(test)]
mod spec_models;
#[cfg(test)]
mod spec_paths;
#[cfg(test)]
mod spec_proofs;
#[cfg(test)]
mod spec_storage;
#[cfg(test)]
mod spec_tables;
#[cfg(test)]
mod stray_fields;
#[cfg(test)]
mod stream_fold;
#[cfg(test)]
mod test_gateway;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod undelivered;
#[cfg(test)]
mod upstreams;
#[cfg(test)]
mod usage_report;
#[cfg(test)]
mod videos;
#[cfg(test)]
mod videos_advice;
#[cfg(test)]
mod videos_cancel;
#[cfg(test)]
mod videos_cases;
#[cfg(test)]
mod videos_files;
#[cfg(test)]
mod videos_form;
#[cfg(test)]
mod videos_idempotency;
#[cfg(test)]
mod videos_media;
#[cfg(test)]
mod videos_money;
#[cfg(test)]
mod videos_outcome;
#[cfg(test)]
mod videos_quotes;
#[cfg(test)]
mod videos_races;
#[cfg(test)]
mod videos_refused_late;
#[cfg(test)]
mod videos_shapes;
#[cfg(test)]
mod videos_transitions;
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
mod workflow_runs;
