//! The ledger against a real PostgreSQL, under its real roles.

#[cfg(test)]
mod accounts;
#[cfg(test)]
mod audit_detects;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod caller_gone;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod chain;
#[cfg(test)]
mod chaos;
#[cfg(test)]
mod growth;
#[cfg(test)]
mod holds;
#[cfg(test)]
mod lanes;
#[cfg(test)]
mod lock_helpers;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod margins;
#[cfg(test)]
mod midnight;
#[cfg(test)]
mod model;
#[cfg(test)]
mod money_events;
#[cfg(test)]
mod operations;
#[cfg(test)]
mod packed;
#[cfg(test)]
mod packed_calls;
#[cfg(test)]
mod packed_doubts;
#[cfg(test)]
mod packed_recovery;
#[cfg(test)]
mod packed_twice;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod speed;
#[cfg(test)]
mod stored_responses;
#[cfg(test)]
mod test_ledger;
#[cfg(test)]
mod trial;
#[cfg(test)]
mod usage_days;
