//! What customers see of their own, over a real PostgreSQL and the real ledger, asked as their pages ask.

#[cfg(test)]
mod catalogs;
#[cfg(test)]
#[path = "../it/desk.rs"]
#[expect(dead_code, reason = "the other test binaries use the rest of it")]
mod desk;
#[cfg(test)]
mod home;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod playground;
#[cfg(test)]
#[path = "../it/stall.rs"]
#[expect(dead_code, reason = "the other test binaries use the rest of it")]
mod stall;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod tenants;
#[cfg(test)]
mod town;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod wallet;
