//! The link that opens the console of `trunkline dev` signed in.
//!
//! It is as good as the key beside it in the same terminal: its reader may use it, as often as
//! needed, until this process ends. So there is none unless the console can be reached from this machine
//! alone.

use trunkline_console::Token;
use trunkline_keyring::SystemRandom;
use url::Url;

use crate::config::is_loopback;
use crate::node::NodeConfig;

/// The page that takes the link's token.
const PAGE: &str = "dev";

/// A link of this start.
pub(super) struct SignInLink(Token);

impl SignInLink {
    /// Lets the console of a plan take a fresh link; none if others could reach that console.
    pub(super) fn offer(plan: &mut NodeConfig) -> anyhow::Result<Option<Self>> {
        // Behind a proxy a loopback listener is not ours alone. With a free port the public address is the
        // listener's own, whatever is configured.
        let public = Url::parse(&plan.console_settings.dash_url);
        let is_own = plan.console.port() == 0 || public.is_ok_and(|url| is_loopback(&url));
        if !plan.console.ip().is_loopback() || !is_own {
            return Ok(None);
        }
        let token = Token::fresh(&SystemRandom)?;
        plan.console_settings.dev_link = Some(token.hash);
        Ok(Some(Self(token)))
    }

    /// Its address at the console. The token stands where no server logs it: after the `#`.
    pub(super) fn at(&self, dash_url: &str) -> String {
        format!("{dash_url}/{PAGE}#{}", self.0.text.reveal())
    }
}
