//! Small helpers between Rust values and columns.

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use time::OffsetDateTime;
use trunkline_db::DbError;
use trunkline_types::{AccountId, RequestId};
use uuid::Uuid;

/// A column's value, or an error that names the column.
pub(crate) fn column<'r, T>(row: &'r PgRow, name: &str) -> Result<T, DbError>
where
    T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    row.try_get(name).map_err(DbError::from)
}

pub(crate) fn request_of(row: &PgRow) -> Result<RequestId, DbError> {
    let uuid: Uuid = column(row, "request_id")?;
    RequestId::from_uuid(uuid).map_err(|error| DbError::from(sqlx::Error::Decode(Box::new(error))))
}

pub(crate) fn account_of(row: &PgRow) -> Result<AccountId, DbError> {
    column(row, "account_id").map(AccountId::new)
}

/// The start or end of a budget period. `infinity` has no [`OffsetDateTime`], so boundaries are
/// passed as microseconds, as PostgreSQL itself counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PeriodBoundary(pub(crate) i64);

impl PeriodBoundary {
    /// Microseconds from PostgreSQL's epoch (2000-01-01); the ends of `i64` are the infinities.
    pub(crate) const fn number(self) -> i64 {
        self.0
    }
}

impl sqlx::Type<sqlx::Postgres> for PeriodBoundary {
    fn type_info() -> sqlx::postgres::PgTypeInfo {
        <OffsetDateTime as sqlx::Type<sqlx::Postgres>>::type_info()
    }
}

impl sqlx::postgres::PgHasArrayType for PeriodBoundary {
    fn array_type_info() -> sqlx::postgres::PgTypeInfo {
        <OffsetDateTime as sqlx::postgres::PgHasArrayType>::array_type_info()
    }
}

impl sqlx::Encode<'_, sqlx::Postgres> for PeriodBoundary {
    fn encode_by_ref(
        &self,
        buffer: &mut sqlx::postgres::PgArgumentBuffer,
    ) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
        sqlx::Encode::<sqlx::Postgres>::encode_by_ref(&self.0, buffer)
    }
}

impl<'r> sqlx::Decode<'r, sqlx::Postgres> for PeriodBoundary {
    fn decode(value: sqlx::postgres::PgValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        // The binary form of timestamptz is the bigint inside it.
        let bytes: [u8; 8] = value.as_bytes()?.try_into()?;
        Ok(Self(i64::from_be_bytes(bytes)))
    }
}

/// One value of each thing: a column of the arrays that a statement takes.
pub(crate) fn each<'a, T, V>(things: &[&'a T], value: impl Fn(&'a T) -> V) -> Vec<V> {
    things.iter().map(|thing| value(thing)).collect()
}
