//! People: console users, their organisations, sign-ins, one-time links and failed logins. Tokens
//! are stored as hashes and passwords as argon2id texts: a copy of these rows opens nothing.
//!
//! Only `trunkline_console` may touch these tables.

mod invitations;
mod login_attempts;
mod members;
mod operators;
mod person;
mod second_factor;
mod sessions;
mod tokens;

use std::fmt;

use crate::validation::{FieldError, Problem, check_name};

pub use invitations::{
    Invitation, NewInvitation, OPEN_INVITATIONS_MAX, accept, invite, open_invitation,
    open_invitations, revoke_invitation,
};
pub use login_attempts::{
    Allowed, AttemptDevice, Counted, LoginAttempt, LoginLimits, clear_attempts, is_known_device,
    record_attempt, remember_device,
};
pub use members::{
    Changed, MEMBERS_MAX, Member, Membership, add_member, change_role, count_members, member,
    members, memberships, operator_of, operators_account, remove_member,
};
pub use operators::{Operator, OperatorRole, operator, operators, put_operator, remove_operator};
pub use person::{
    NewPerson, Person, by_email, create_person, find_person, has_operator, rename_person,
    set_operator, set_password, verify_email,
};
pub use second_factor::{
    SecondFactor, begin_second_factor, confirm_second_factor, note_second_factor,
    pass_second_factor, recovery_codes_left, remove_second_factor, second_factor, secret_context,
    set_recovery_codes, take_recovery_code, take_step,
};
pub use sessions::{
    ABSOLUTE_LIFE_SECONDS, Device, IDLE_LIFE_SECONDS, NewSignIn, SIGN_INS_MAX, STEP_UP_SECONDS,
    SignIn, devices, end, end_all_but, find_sign_in, renew, set_viewing, sign_in, switch_account,
    switch_to_first_account, touch,
};
pub use tokens::{Purpose, has_any_token, has_token, issue_token, sweep, take_token, void_tokens};

pub const EMAIL_MIN_CHARACTERS: usize = 3;
pub const EMAIL_MAX_CHARACTERS: usize = 254;
pub const AGENT_MAX_CHARACTERS: usize = 200;

/// The SHA-256 of a token.
pub type TokenHash = [u8; 32];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PersonId(i64);

/// Role of a member. The console defines the permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Owner,
    /// Everything but the roles of owners.
    Admin,
    Developer,
    Billing,
    Viewer,
}

// === impl PersonId ===

impl PersonId {
    /// The number in the database.
    #[must_use]
    pub const fn new(number: i64) -> Self {
        Self(number)
    }

    /// The number in the database.
    #[must_use]
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for PersonId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

// === impl Role ===

impl Role {
    /// All roles, most permissions first.
    pub const ALL: [Self; 5] = [
        Self::Owner,
        Self::Admin,
        Self::Developer,
        Self::Billing,
        Self::Viewer,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Developer => "developer",
            Self::Billing => "billing",
            Self::Viewer => "viewer",
        }
    }

    /// The role of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }

    fn of_column(word: &str) -> Result<Self, sqlx::Error> {
        Self::of(word).ok_or_else(|| sqlx::Error::Decode(format!("no role {word:?}").into()))
    }
}

/// An address as it is kept: without the spaces around it, lower-case.
pub fn check_email(field: &'static str, text: &str) -> Result<String, FieldError> {
    let email = text.trim().to_ascii_lowercase();
    if email.is_empty() {
        return Err(FieldError::new(field, Problem::Empty));
    }
    if email.len() > EMAIL_MAX_CHARACTERS {
        let most = EMAIL_MAX_CHARACTERS;
        return Err(FieldError::new(field, Problem::TooLong { most }));
    }
    let legal = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"@<>(),;:\"[]\\".contains(&byte);
        !part.is_empty() && part.bytes().all(plain)
    };
    match email.split_once('@') {
        Some((name, host)) if legal(name) && legal(host) => Ok(email),
        Some(_) | None => {
            let be = "an e-mail address such as ada@example.com, in ASCII";
            Err(FieldError::new(field, Problem::Must { be }))
        }
    }
}

/// A person's name: one line, without the spaces around it.
pub fn check_person_name(field: &'static str, text: &str) -> Result<String, FieldError> {
    let name = text.trim();
    check_name(field, name)?;
    Ok(name.to_owned())
}

/// A user agent, truncated to what is stored.
#[must_use]
pub fn agent_of(text: &str) -> String {
    let line = text.replace(char::is_control, " ");
    line.trim().chars().take(AGENT_MAX_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_line_of_ascii_with_one_at() {
        let good = |text: &str| check_email("email", text).unwrap();
        assert_eq!(good(" Ada@Example.COM "), "ada@example.com");
        assert_eq!(good("a@b"), "a@b");
        assert_eq!(
            good("o'hara+tag@xn--bcher-kva.example"),
            "o'hara+tag@xn--bcher-kva.example"
        );
        let longest = format!("{}@b", "a".repeat(252));
        assert_eq!(good(&longest), longest);
        for wrong in [
            "",
            " ",
            "ada",
            "@b",
            "a@",
            "a@b@c",
            "a b@c",
            "ada@exämple.com",
            "a@b\r\nbcc: c@d",
            "<a@b>",
            "a@b,c@d",
            &format!("{}@b", "a".repeat(253)),
        ] {
            assert!(check_email("email", wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_browser_is_kept_as_one_bounded_line() {
        assert_eq!(agent_of(" Mozilla\t5.0 "), "Mozilla 5.0");
        assert_eq!(agent_of(&"ü".repeat(500)).chars().count(), 200);
    }

    #[test]
    fn every_role_has_its_word() {
        for role in Role::ALL {
            assert_eq!(Role::of(role.as_str()), Some(role));
        }
        assert_eq!(Role::of("god"), None);
    }
}
