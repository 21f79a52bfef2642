//! The login of an installation and the roles it works under.

use trunkline_db::{DbError, Tx};

/// Lets the login of this connection work under the three roles of a running installation, where one
/// login does everything. Refused where the login may not give these roles away: then the database's
/// administrator grants them.
pub async fn take_roles(tx: &mut Tx) -> Result<(), DbError> {
    // The grant is the login's own right, not that of the role that the connection works under.
    sqlx::raw_sql(
        "SET LOCAL ROLE NONE;
         DO $grant$ BEGIN
             EXECUTE pg_catalog.format(
                 'GRANT trunkline_data, trunkline_console, trunkline_audit TO %I', session_user);
         END $grant$",
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
