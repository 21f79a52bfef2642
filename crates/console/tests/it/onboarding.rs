//! How people come in by themselves, and what they are given: over a real PostgreSQL, a real mail dialogue and
//! a real provider of OpenID Connect.

mod trial_credit;
mod harness;
mod emails;
mod oidc;
mod provider;
mod redeem;
mod sign_up;
