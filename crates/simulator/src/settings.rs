//! How a simulator is set up.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use crate::access_tokens::VertexSettings;
use crate::audio_state::AudioSettings;
use crate::realtime_log::RealtimeSettings;
use crate::social_state::SocialSettings;
use crate::video_jobs::VideoSettings;

/// How a simulator is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens; port 0 takes a free one.
    pub bind: SocketAddr,
    /// Bearer keys that are accepted; none means any key that is not empty.
    pub keys: Vec<String>,
    /// Keys that may sign calls of the Bedrock paths; without any, every call is refused.
    pub aws_keys: Vec<AwsKey>,
    /// How many records are kept; beyond it the oldest give way.
    pub max_requests: usize,
    /// How Vertex AI lets clients in.
    pub vertex: VertexSettings,
    /// How long video jobs take.
    pub video: VideoSettings,
    /// How fast speech is sent and how long recognition takes.
    pub audio: AudioSettings,
    /// How realtime connections behave.
    pub realtime: RealtimeSettings,
    /// How often the source of social data may be asked.
    pub social: SocialSettings,
    /// Chat completions read beginnings of prompts from a cache of their key, as OpenAI's do.
    pub caches_prompts: bool,
    /// Models that are listed beside its usual ones; their names begin as all of them do.
    pub models: Vec<String>,
    /// Keys may not list models, as restricted ones of OpenAI's may not.
    pub hides_models: bool,
}

/// A pair of AWS credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct AwsKey {
    /// The access key id, which stands in every call.
    pub id: String,
    /// The secret access key, which only signs.
    pub secret: String,
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            keys: Vec::new(),
            aws_keys: vec![AwsKey::simulators()],
            max_requests: 200_000,
            vertex: VertexSettings::default(),
            video: VideoSettings::default(),
            audio: AudioSettings::default(),
            realtime: RealtimeSettings::default(),
            social: SocialSettings::default(),
            caches_prompts: false,
            models: Vec::new(),
            hides_models: false,
        }
    }
}

// === impl AwsKey ===

impl AwsKey {
    /// The simulator's default pair.
    #[must_use]
    pub fn simulators() -> Self {
        Self {
            id: "AKIASIMULATOR0000001".to_owned(),
            secret: "simulator/secret+access/key".to_owned(),
        }
    }
}

impl fmt::Debug for AwsKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A secret of a test is a secret too: it must not show up in logs either.
        formatter
            .debug_struct("AwsKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
