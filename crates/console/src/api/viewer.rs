//! For whom a request renders the catalog, by its key or its session.

use http::HeaderMap;
use trunkline_store::accounts;

use crate::error::ApiError;
use crate::gateway_port::Viewer;
use crate::session::MemberSession;
use crate::shared::Shared;

impl Viewer {
    /// The viewer of a request; an unknown key is rejected. Without a key, a signed-in user sees the
    /// prices of the selected organisation.
    pub(super) async fn of_request(shared: &Shared, headers: &HeaderMap) -> Result<Self, ApiError> {
        let viewer = Self::of(shared.gateway.as_ref(), headers)?;
        if viewer != Self::Stranger {
            return Ok(viewer);
        }
        let Some(own) = MemberSession::peek(shared, headers).await? else {
            return Ok(viewer);
        };
        let mut session = shared.people.session().await?;
        let account = accounts::find(&mut session, own.account).await?;
        Ok(account.map_or(viewer, |account| Self::Customer {
            group: Some(account.group),
            models: None,
        }))
    }
}
