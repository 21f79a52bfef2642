//! Emails over a real PostgreSQL and a real SMTP dialogue.

#[cfg(test)]
mod delivery;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod low_balance;
#[cfg(test)]
mod tls;
