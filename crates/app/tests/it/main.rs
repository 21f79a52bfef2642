//! The executable, run as an operator runs it.

#[cfg(test)]
mod command_line;
