//! What happens to the account, as server-sent events.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use tokio::sync::mpsc;
use trunkline_db::events::{self, SYSTEM_ACCOUNT};
use trunkline_edge::error::ApiError;
use trunkline_edge::response::{self, Response};
use trunkline_types::AccountId;

use super::ApiRequest;
use crate::event_hub::Cursor;
use crate::events::{Begin, EventQuery, QUEUE, Reader, WORD, wrong};
use crate::state::AccountApi;

pub(super) async fn handle(
    api: &Arc<AccountApi>,
    visit: ApiRequest<'_>,
) -> Result<Response, ApiError> {
    visit.caller.check_endpoint(WORD)?;
    api.edge.in_flight.check_open()?;
    let params = EventQuery::read(visit.headers, visit.query)?;
    if visit.method == Method::HEAD {
        let mut answered = response::events(mpsc::channel(1).1);
        *answered.body_mut() = response::ResponseBody::Whole(None);
        return Ok(answered);
    }
    let account = visit.caller.account.id;
    let settings = &api.settings.events;
    // Subscribed first: whatever is written after the numbers were read is received.
    let (seat, hears) = api
        .event_hub
        .enter(account, visit.caller.key.hash, settings)?;
    let newest = newest_events(api, account).await?;
    let (cursor, from_stored) = match params.begin {
        Begin::Now => (newest, false),
        Begin::Kept => (Cursor::default(), true),
        Begin::After(cursor) => (cursor, false),
    };
    if cursor.account > newest.account || cursor.system > newest.system {
        let text = "this place is further than your events have come; leave it out to begin \
                    now, or send `from=start` for all that is kept";
        return Err(wrong("last_event_id", text));
    }
    let (pieces, body) = mpsc::channel::<Bytes>(QUEUE);
    let (owned, filter) = (Arc::clone(api), params.filter);
    let reader = Reader::new(owned, seat, cursor, filter, from_stored, pieces);
    api.tasks.spawn(Box::pin(reader.run(hears, newest)));
    Ok(response::events(body))
}

async fn newest_events(api: &AccountApi, account: AccountId) -> Result<Cursor, ApiError> {
    let mut session = api.data.session().await?;
    let newest = events::newest(&mut session, &[account, SYSTEM_ACCOUNT]).await;
    let mut cursor = Cursor::default();
    for (whose, number) in newest? {
        if whose == SYSTEM_ACCOUNT {
            cursor.system = number;
        } else {
            cursor.account = number;
        }
    }
    Ok(cursor)
}
