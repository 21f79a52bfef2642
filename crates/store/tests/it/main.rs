//! Accounts, keys and channels, on a real PostgreSQL, under their real roles.

#[cfg(test)]
mod account_close;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod channels;
#[cfg(test)]
mod following;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod people;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod social;
#[cfg(test)]
mod test_store;
#[cfg(test)]
mod workflows;
