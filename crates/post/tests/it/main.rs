//! Letters over a real PostgreSQL and a real SMTP dialogue.

#[cfg(test)]
mod carrying;
#[cfg(test)]
mod office;
#[cfg(test)]
mod private;
