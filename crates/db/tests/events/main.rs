//! What the table of events promises, against a real PostgreSQL.

#[cfg(test)]
mod numbers;
