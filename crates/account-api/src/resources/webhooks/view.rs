//! A webhook as its customer sees it.

use serde_json::{Value, json};
use trunkline_store::webhooks::{Kind, Webhook};
use trunkline_types::Timestamp;
use uuid::Uuid;

use crate::state::AccountApi;
use crate::webhooks::{SealedFor, Secret, binding};

/// How the names of webhooks begin.
const PREFIX: &str = "wh_";

pub(super) fn webhook_name(id: Uuid) -> String {
    format!("{PREFIX}{}", id.simple())
}

/// The webhook of a name; none if it is no name of one.
pub(super) fn webhook_of(name: &str) -> Option<Uuid> {
    let id = Uuid::try_parse(name.strip_prefix(PREFIX)?).ok()?;
    Some(id).filter(|id| webhook_name(*id) == name)
}

/// A webhook's view. A secret is included only when it is made, except the one for tasks: the first
/// task makes that, and its response does not include it.
pub(super) fn webhook_view(api: &AccountApi, webhook: &Webhook, made: Option<&Secret>) -> Value {
    let url = webhook.url.as_ref().and_then(|sealed| {
        let sealed_for = SealedFor::Url(webhook.id);
        binding::open_url(api, webhook.account, sealed_for, sealed)
    });
    let opened = match webhook.kind {
        Kind::Tasks => binding::open_secret(api, webhook.account, webhook.id, &webhook.secret),
        Kind::Endpoint => None,
    };
    let seconds = |at: Option<Timestamp>| at.map(Timestamp::seconds);
    let mut body = json!({
        "object": "webhook",
        "id": webhook_name(webhook.id),
        "kind": webhook.kind.as_str(),
        "url": url,
        "topics": webhook.topics,
        "description": webhook.description,
        "state": if webhook.paused.is_some() { "paused" } else { "active" },
        "paused_reason": webhook.paused.map(|(_, reason)| reason.as_str()),
        "paused_at": seconds(webhook.paused.map(|(at, _)| at)),
        "failing_since": seconds(webhook.failing_since),
        "old_secret_expires_at": seconds(webhook.old_secret.as_ref().map(|(_, until)| *until)),
        "created_at": webhook.created_at.seconds(),
    });
    if let (Some(secret), Some(body)) = (made.or(opened.as_ref()), body.as_object_mut()) {
        body.insert("secret".to_owned(), json!(secret.encoded()));
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_spelling() {
        let name = webhook_name(Uuid::from_u128(0xabcdef));
        assert_eq!(webhook_of(&name), Some(Uuid::from_u128(0xabcdef)));
        for other in [
            name.to_uppercase(),
            name.replace("wh_", ""),
            format!("{name}0"),
            format!("wh_{}", Uuid::from_u128(0xabcdef)),
            "tasks".to_owned(),
        ] {
            assert_eq!(webhook_of(&other), None, "{other}");
        }
    }
}
