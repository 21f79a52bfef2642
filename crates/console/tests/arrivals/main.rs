//! How people come in by themselves, and what they are given: over a real PostgreSQL, a real mail dialogue and
//! a real provider of OpenID Connect.

#[cfg(test)]
#[path = "../it/desk.rs"]
#[expect(
    dead_code,
    reason = "the console of other tests, of which a part is used here"
)]
mod desk;
#[cfg(test)]
mod gifts;
#[cfg(test)]
mod house;
#[cfg(test)]
mod letters;
#[cfg(test)]
mod oidc;
#[cfg(test)]
mod provider;
#[cfg(test)]
mod redeem;
#[cfg(test)]
mod sign_up;
#[cfg(test)]
#[path = "../it/stall.rs"]
#[expect(
    dead_code,
    reason = "the shop of other tests, of which a part is used here"
)]
mod stall;
