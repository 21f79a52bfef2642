//! What the database crate promises, against a real PostgreSQL.

#[cfg(test)]
mod bus;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod commits;
#[cfg(test)]
mod events;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod migrating;
#[cfg(test)]
mod notifications;
#[cfg(test)]
mod outbox;
#[cfg(test)]
mod revisions;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod tenants;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod upgrading;
