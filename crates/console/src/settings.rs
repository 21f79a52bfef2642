//! What an operator has decided about the console.

use trunkline_store::people::TokenHash;
use trunkline_types::{AccountId, Money, Secret};

#[derive(Debug, Clone)]
pub struct ConsoleSettings {
    /// Display name of the instance.
    pub name: String,
    /// Where people open it, such as `https://console.example.com`; no path, no slash at its end.
    pub dash_url: String,
    /// Where customers' calls go, with `/v1`.
    pub base_url: String,
    pub sign_up: SignUp,
    /// The model in examples of the documentation.
    pub docs_model: String,
    pub providers: Vec<Provider>,
    /// Mode of the instance.
    pub mode: Mode,
    /// What a new organisation is given; none for nothing.
    pub trial: Option<Trial>,
    /// Whether a mail server is configured.
    pub sends_mail: bool,
    /// The organisation that is the first operator's, if there is one already: the seeded one of `dev`.
    pub first_account: Option<AccountId>,
    /// The hash of the token that signs in as the operator of `first_account`. Only `dev` sets it, anew at
    /// each start, and only where its console listens on the loopback interface.
    pub dev_link: Option<TokenHash>,
    /// The configuration as operators see it: names and values, without secrets.
    pub configuration: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignUp {
    /// Only operators create accounts.
    Closed,
    Invitation,
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `trunkline dev`.
    Dev,
    /// `trunkline serve`.
    Live,
}

/// Where else people may sign in: a provider of OpenID Connect.
#[derive(Debug, Clone)]
pub struct Provider {
    pub id: String,
    pub name: String,
    /// Its address, exactly as it names itself.
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Secret,
    /// What is asked for beside `openid`.
    pub scopes: Vec<String>,
    /// The only domains whose addresses may sign in; empty for all.
    pub allowed_domains: Vec<String>,
    /// Whether unknown users are signed up, with their own organisation.
    pub makes_people: bool,
}

/// Trial credit of new organisations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    pub amount: Money,
    /// Validity in days.
    pub days: u32,
    /// How many organisations in a day at most, over all.
    pub per_day: u32,
}

// === impl ConsoleSettings ===

impl ConsoleSettings {
    /// The defaults, at these addresses.
    #[must_use]
    pub fn at(dash_url: &str, base_url: &str) -> Self {
        Self {
            name: "Trunkline".to_owned(),
            dash_url: dash_url.to_owned(),
            base_url: base_url.to_owned(),
            sign_up: SignUp::Closed,
            docs_model: "gpt-5-mini".to_owned(),
            providers: Vec::new(),
            mode: Mode::Live,
            trial: None,
            sends_mail: false,
            first_account: None,
            dev_link: None,
            configuration: Vec::new(),
        }
    }

    /// Whether browsers speak TLS with us.
    pub(crate) fn is_https(&self) -> bool {
        self.dash_url.starts_with("https://")
    }

    /// The page that explains errors; `#` and a code are added to it.
    #[must_use]
    pub fn error_pages(&self) -> String {
        format!("{}/docs/errors", self.dash_url)
    }

    /// An address on the console that carries a token where no server logs it: after the `#`.
    #[must_use]
    pub fn link(&self, page: &str, token: &str) -> String {
        format!("{}/{page}#{token}", self.dash_url)
    }
}

// === impl SignUp, Mode ===

impl SignUp {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Invitation => "invitation",
            Self::Open => "open",
        }
    }

    pub const ALL: [Self; 3] = [Self::Closed, Self::Invitation, Self::Open];
}

impl Mode {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Live => "live",
        }
    }
}
