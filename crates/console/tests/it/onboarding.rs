//! How people come in by themselves, and what they are given: over a real PostgreSQL, a real mail dialogue and
//! a real provider of OpenID Connect.

mod emails;
mod harness;
mod oidc;
mod provider;
mod redeem;
mod sign_up;
mod trial_credit;
