//! The executable, run as an operator runs it.

#[cfg(test)]
mod admin_cli;
#[cfg(test)]
mod alarms;
#[cfg(test)]
mod alerting;
#[cfg(test)]
mod catalogs;
#[cfg(test)]
mod channels;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod codes;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod console_link;
#[cfg(test)]
mod dev;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod editing;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod gateway_check;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod init;
#[cfg(test)]
mod keyrings;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod money;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod operator_page;
#[cfg(test)]
mod payments;
#[cfg(test)]
mod people;
#[cfg(test)]
mod platforms;
#[cfg(test)]
mod prices;
#[cfg(test)]
mod routes_and_closing;
#[cfg(test)]
mod runbook;
#[cfg(test)]
mod sdk;
#[cfg(test)]
mod sign_up;
#[cfg(test)]
mod social;
#[cfg(test)]
mod verifying;
#[cfg(test)]
mod workflows;
