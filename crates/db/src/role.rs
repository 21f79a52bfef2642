//! The four roles that the first migration makes. What each may do is written in SQL, not here.

/// Under which role a connection works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Owns every object; migrations only.
    Owner,
    /// The edge and the workers.
    Data,
    /// The admin and customer API.
    Console,
    Audit,
}

// === impl Role ===

impl Role {
    pub const ALL: [Self; 4] = [Self::Owner, Self::Data, Self::Console, Self::Audit];

    /// The role's name in PostgreSQL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "trunkline_owner",
            Self::Data => "trunkline_data",
            Self::Console => "trunkline_console",
            Self::Audit => "trunkline_audit",
        }
    }
}
