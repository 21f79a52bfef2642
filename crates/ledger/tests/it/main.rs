//! The ledger against a real PostgreSQL, under its real roles.

#[cfg(test)]
mod audit_bites;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod chaos;
#[cfg(test)]
mod desk;
#[cfg(test)]
mod growth;
#[cfg(test)]
mod house;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod lanes;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod midnight;
#[cfg(test)]
mod model;
#[cfg(test)]
mod money_events;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod speed;
#[cfg(test)]
mod trial;
#[cfg(test)]
mod unheard;
#[cfg(test)]
mod usage_days;
#[cfg(test)]
mod verbs;
#[cfg(test)]
mod waiting;
