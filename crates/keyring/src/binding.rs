//! What a token belongs to: whose it is and where it stands. Moved elsewhere, it does not open.

use trunkline_types::AccountId;

use crate::{Purpose, SealError};

/// Longest context of a binding.
pub const MAX_CONTEXT_BYTES: usize = 1_024;

/// Whose a token is and where it stands. Both must be the same again when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding<'a> {
    /// The account, or none for what belongs to the operator.
    pub account: Option<AccountId>,
    /// Where the token stands, in words of the caller: table, column and row, for example. Without
    /// it, a user that can write to a table can swap two sealed rows of one account.
    pub context: &'a [u8],
}

// === impl Binding ===

impl<'a> Binding<'a> {
    #[must_use]
    pub const fn of_account(account: AccountId, context: &'a [u8]) -> Self {
        Self {
            account: Some(account),
            context,
        }
    }

    #[must_use]
    pub const fn of_operator(context: &'a [u8]) -> Self {
        Self {
            account: None,
            context,
        }
    }

    pub(crate) fn check_length(&self) -> Result<(), SealError> {
        if self.context.len() > MAX_CONTEXT_BYTES {
            return Err(SealError::TooLong {
                what: "the context",
                limit_bytes: MAX_CONTEXT_BYTES,
            });
        }
        Ok(())
    }
}

/// Everything a token is bound to, in one string of bytes: the kind of token, its header, purpose,
/// prefix, account and context.
pub(crate) fn associated_data(
    kind: &str,
    header: &[u8],
    purpose: Purpose,
    prefix: &str,
    binding: &Binding<'_>,
) -> Vec<u8> {
    // No account is no bytes, an account always eight: the two cannot be taken for each other.
    let account = binding
        .account
        .map(|account| account.number().to_be_bytes());
    let account = account.as_ref().map_or(&[][..], |bytes| &bytes[..]);
    let fields = [
        kind.as_bytes(),
        header,
        purpose.as_str().as_bytes(),
        prefix.as_bytes(),
        account,
        binding.context,
    ];
    let mut data = Vec::new();
    for field in fields {
        append_framed(&mut data, field);
    }
    data
}

/// Appends a field behind its length, so that two fields cannot run together.
pub(crate) fn append_framed(data: &mut Vec<u8>, field: &[u8]) {
    let length = u64::try_from(field.len()).unwrap_or(u64::MAX);
    data.extend_from_slice(&length.to_be_bytes());
    data.extend_from_slice(field);
}
