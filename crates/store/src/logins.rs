//! The login of an installation and the roles it works under.

use trunkline_db::{DbError, Tx};

/// Grants the three roles of a running installation to this connection's login, for installations
/// with a single login. Refused where the login may not grant these roles: then the database
/// administrator grants them.
pub async fn take_roles(tx: &mut Tx) -> Result<(), DbError> {
    // The login has the right to grant, not the role that the connection works under.
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
