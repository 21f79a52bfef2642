//! Prices, tested as an endpoint would use them: through a loaded book.

#[cfg(test)]
mod books;
#[cfg(test)]
mod lint;
#[cfg(test)]
mod money;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod records;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod starter;
#[cfg(test)]
mod tiers;
#[cfg(test)]
mod workflows;
