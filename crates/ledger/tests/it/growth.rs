//! What a full database costs: buffers touched at two and at twenty million usage rows, and what each index
//! of calls costs a settlement. `just ledger-growth` and `just logs-growth` run the long forms.

mod buffers;
mod logs;
mod margins;
mod price;
