//! The trial of a channel that was skipped: one call at a time, while others are asked first.

use std::sync::Arc;

use crate::channels::Channel;
use crate::services::Services;

/// A channel that waits for its turn.
pub(super) enum Turn<'a> {
    First(&'a Arc<Channel>),
    /// It is half open and another call tries it, so it is asked after all others.
    Last(&'a Arc<Channel>),
}

#[derive(Clone, Copy)]
pub(super) enum Trial {
    NotNeeded,
    Own,
    /// Another call has it.
    Taken,
}

impl Trial {
    pub(super) fn of(services: &Services, channel: &Channel) -> Self {
        let now = services.now();
        if !channel.health.is_half_open(now) {
            return Self::NotNeeded;
        }
        if channel.health.take_trial(now) {
            Self::Own
        } else {
            Self::Taken
        }
    }

    pub(super) fn end(self, channel: &Channel) {
        match self {
            Self::Own => channel.health.end_trial(),
            Self::NotNeeded | Self::Taken => {}
        }
    }
}
