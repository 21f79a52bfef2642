//! The console over a real PostgreSQL, asked as a browser or a program asks it.

#[cfg(test)]
mod client;
#[cfg(test)]
mod customer;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod document;
#[cfg(test)]
mod fake_catalog;
#[cfg(test)]
mod http_contract;
#[cfg(test)]
mod margins;
#[cfg(test)]
mod onboarding;
#[cfg(test)]
mod operator;
#[cfg(test)]
mod payments;
#[cfg(test)]
mod people;
#[cfg(test)]
mod pricing;
#[cfg(test)]
mod social;
#[cfg(test)]
mod workflows;
