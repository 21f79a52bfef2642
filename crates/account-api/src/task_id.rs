//! The public id of a video task.

use uuid::Uuid;

/// How the names of tasks begin.
const PREFIX: &str = "task_";

/// A task's name as customers see it.
pub fn task_name(id: Uuid) -> String {
    format!("{PREFIX}{}", id.simple())
}

/// The task of a name; none if it is no name of a task.
pub fn task_of(name: &str) -> Option<Uuid> {
    let hex = name.strip_prefix(PREFIX)?;
    let legal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let id = (hex.len() == 32 && hex.bytes().all(legal)).then(|| Uuid::try_parse(hex).ok())?;
    id.filter(|id| task_name(*id) == name)
}
