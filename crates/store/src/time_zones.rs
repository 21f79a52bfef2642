//! Time zones that PostgreSQL knows. Budget periods use them, so an unknown zone must be refused
//! before it is written.

use sqlx::PgConnection;
use trunkline_db::DbError;

/// True for an IANA name such as `Europe/Berlin` or `UTC`. Not for abbreviations and not for names
/// that mean "the server's own".
pub async fn is_known(connection: &mut PgConnection, zone: &str) -> Result<bool, DbError> {
    let known = sqlx::query_scalar(
        "SELECT EXISTS (
             SELECT FROM pg_catalog.pg_timezone_names AS z
             WHERE z.name = $1 AND z.name NOT IN ('localtime', 'posixrules'))",
    )
    .bind(zone)
    .fetch_one(connection)
    .await?;
    Ok(known)
}
