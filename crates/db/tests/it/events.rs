//! What the table of events promises, against a real PostgreSQL.

mod numbers;
