//! What a process does among its peers.

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Role {
    Edge,
    Worker,
    Console,
}

/// All that one process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) edge: bool,
    pub(crate) worker: bool,
    pub(crate) console: bool,
}

// === impl Roles ===

impl Roles {
    /// Everything, as on one machine.
    pub(crate) const ALL: Self = Self {
        edge: true,
        worker: true,
        console: true,
    };

    pub(crate) fn of(roles: &[Role]) -> Self {
        Self {
            edge: roles.contains(&Role::Edge),
            worker: roles.contains(&Role::Worker),
            console: roles.contains(&Role::Console),
        }
    }

    /// Those that a configuration names.
    pub(super) fn of_words(words: &[String]) -> Result<Self, String> {
        let role = |word: &String| match word.as_str() {
            "edge" => Ok(Role::Edge),
            "worker" => Ok(Role::Worker),
            "console" => Ok(Role::Console),
            other => Err(format!("{other:?} is none of edge, worker, console")),
        };
        let roles: Vec<Role> = words.iter().map(role).collect::<Result<_, _>>()?;
        if roles.is_empty() {
            return Err("must name at least one of edge, worker, console".to_owned());
        }
        Ok(Self::of(&roles))
    }
}
