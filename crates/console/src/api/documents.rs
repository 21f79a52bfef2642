//! Documents about the interface itself: OpenAPI, and the schema of workflow records.

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};
use trunkline_catalog::workflow::SCHEMA;
use trunkline_types::Face;
use utoipa::OpenApi;

use crate::error::{ConsoleErrorCode, ErrorBody};
use crate::middleware::is_public;
use crate::reply;
use crate::shared::Shared;

/// What a record of the catalog is.
const RECORD: &str = include_str!("record.schema.json");
/// What a cell of social data is.
const CELL: &str = include_str!("cell.schema.json");

/// The head of the document; the routes add themselves.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Trunkline console",
        description = "What is sold and what can be run. Every answer carries `x-request-id`; errors have one shape.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    components(schemas(ErrorBody)),
    tags(
        (name = "people", description = "Who is signed in, and the members of an organisation"),
        (name = "catalog", description = "What is sold and for how much"),
        (name = "wallet", description = "Money of the organisation"),
        (name = "payments", description = "Payments, their receipts, and automatic top-up"),
        (name = "keys", description = "API keys and what they may spend"),
        (name = "logs", description = "Single calls"),
        (name = "tasks", description = "Videos, from the hold to the file"),
        (name = "usage", description = "Sums of what was used"),
        (name = "workflows", description = "Tasks and what they are bound to"),
        (name = "service", description = "The interface itself")
    )
)]
pub(super) struct Described;

/// Returns this OpenAPI document.
#[utoipa::path(get, path = "/openapi.json", operation_id = "openapi", tag = "service",
    responses(
        (status = 200, description = "This document", body = Object,
            headers(("etag" = String, description = "Names this version"))),
        (status = 304, description = "Not modified since `If-None-Match`")
    ))]
pub(super) async fn openapi(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    reply::bytes(&headers, shared.document, "application/json")
}

/// Returns the JSON Schema of workflow records.
#[utoipa::path(get, path = "/schemas/workflow.json", operation_id = "workflow_schema", tag = "service",
    responses(
        (status = 200, description = "JSON Schema, draft 2020-12", body = Object,
            content_type = "application/schema+json",
            headers(("etag" = String, description = "Names this version"))),
        (status = 304, description = "Not modified since `If-None-Match`")
    ))]
pub(super) async fn workflow_schema(headers: HeaderMap) -> Response {
    let schema = Bytes::from_static(SCHEMA.as_bytes());
    reply::bytes(&headers, schema, "application/schema+json")
}

/// The document as it is served: what the routes said of themselves, the schema of records, and the
/// errors that every path has because the front makes them.
pub(super) fn document(described: &utoipa::openapi::OpenApi) -> Bytes {
    let mut document = serde_json::to_value(described).unwrap_or_default();
    if let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas") {
        let record = serde_json::from_str(RECORD).unwrap_or_default();
        schemas.insert("ModelRecord".to_owned(), record);
        let cell = serde_json::from_str(CELL).unwrap_or_default();
        schemas.insert("SocialCell".to_owned(), cell);
        let faces = Face::ALL.map(Face::name);
        let words = [
            "unverified",
            "at_list",
            "below_list",
            "above_list",
            "sources_disagree",
        ];
        schemas.insert(
            "Face".to_owned(),
            json!({ "type": "string", "enum": faces }),
        );
        schemas.insert(
            "Verdict".to_owned(),
            json!({ "type": "string", "enum": words }),
        );
        let prices = json!({
            "type": "object",
            "description": "Pico-USD for one unit, by face",
            "propertyNames": { "$ref": "#/components/schemas/Face" },
            "additionalProperties": { "type": "integer", "minimum": 0 },
        });
        schemas.insert("Faces".to_owned(), prices);
    }
    if let Ok(Value::Object(mut schema)) = serde_json::from_str(SCHEMA) {
        schema.remove("$schema");
        schema.remove("$id");
        if let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas") {
            schemas.insert("Workflow".to_owned(), Value::Object(schema));
        }
    }
    add_errors(&mut document);
    Bytes::from(document.to_string())
}

/// The document of the operator's API.
pub(super) fn operators_document(described: &utoipa::openapi::OpenApi) -> Bytes {
    let mut document = serde_json::to_value(described).unwrap_or_default();
    add_errors(&mut document);
    Bytes::from(document.to_string())
}

fn add_errors(document: &mut Value) {
    if let Some(Value::Object(paths)) = document.get_mut("paths") {
        for (path, operations) in paths {
            let operations = operations.as_object_mut().into_iter();
            for (method, operation) in operations.flatten() {
                if let Some(responses) = operation.get_mut("responses") {
                    common_errors(responses, path, method);
                }
            }
        }
    }
}

/// The errors of the middleware on every path, and of the guards on private paths.
fn common_errors(responses: &mut Value, path: &str, method: &str) {
    let everywhere = [
        (
            ConsoleErrorCode::Invalid,
            "Invalid request, or the query is too long",
        ),
        (
            ConsoleErrorCode::MethodNotAllowed,
            "Method not allowed; see `allow`",
        ),
        (ConsoleErrorCode::TooLarge, "The body is larger than 64 KiB"),
        (
            ConsoleErrorCode::Unavailable,
            "Temporarily unavailable; retry after `retry-after`",
        ),
    ];
    let private = [
        (ConsoleErrorCode::NotSignedIn, "Not signed in"),
        (
            ConsoleErrorCode::RoleNotAllowed,
            "The role does not allow it, the password is required again (`step_up_required`), \
             or the request is cross-site (`cross_site`)",
        ),
        (
            ConsoleErrorCode::NotFound,
            "Not found, or it belongs to another organisation",
        ),
    ];
    let writing = [
        (
            ConsoleErrorCode::Conflict,
            "Conflicts with the current state",
        ),
        (
            ConsoleErrorCode::TooManyAttempts,
            "Too many attempts; wait for `retry-after`",
        ),
    ];
    let is_private = !is_public(path);
    let is_writing = is_private && method != "get";
    let private = private.into_iter().filter(|_| is_private);
    let writing = writing.into_iter().filter(|_| is_writing);
    let Some(responses) = responses.as_object_mut() else {
        return;
    };
    for (kind, description) in everywhere.into_iter().chain(private).chain(writing) {
        let response = json!({
            "description": description,
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ErrorBody" } } },
        });
        let status = kind.status().as_u16().to_string();
        responses.entry(status).or_insert(response);
    }
}
