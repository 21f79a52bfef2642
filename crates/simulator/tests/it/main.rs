//! The simulator over a real socket, seen by a client that reads bytes and trusts nothing.

#[cfg(test)]
mod anthropic;
#[cfg(test)]
mod anthropic_faults;
#[cfg(test)]
mod anthropic_fixtures;
#[cfg(test)]
mod anthropic_refusals;
#[cfg(test)]
mod audio;
#[cfg(test)]
mod audio_dashscope;
#[cfg(test)]
mod audio_minimax;
#[cfg(test)]
mod audio_openai;
#[cfg(test)]
mod audio_zhipu;
#[cfg(test)]
mod azure;
#[cfg(test)]
mod bedrock;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod client;
#[cfg(test)]
mod completions;
#[cfg(test)]
mod control_api;
#[cfg(test)]
mod disconnects;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod faults_early;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod gemini;
#[cfg(test)]
mod gemini_faults;
#[cfg(test)]
mod gemini_fixtures;
#[cfg(test)]
mod gemini_refusals;
#[cfg(test)]
mod gemini_thoughts;
#[cfg(test)]
mod images_ark;
#[cfg(test)]
mod images_dashscope;
#[cfg(test)]
mod images_faults;
#[cfg(test)]
mod images_minimax;
#[cfg(test)]
mod images_openai;
#[cfg(test)]
mod passthrough;
#[cfg(test)]
mod pictures;
#[cfg(test)]
mod realtime;
#[cfg(test)]
mod realtime_client;
#[cfg(test)]
mod realtime_faults;
#[cfg(test)]
mod realtime_turns;
#[cfg(test)]
mod realtime_vendors;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod responses;
#[cfg(test)]
mod responses_faults;
#[cfg(test)]
mod responses_fixtures;
#[cfg(test)]
mod responses_socket;
#[cfg(test)]
mod responses_state;
#[cfg(test)]
mod sdk;
#[cfg(test)]
mod social;
#[cfg(test)]
mod social_faults;
#[cfg(test)]
mod social_pages;
#[cfg(test)]
mod stream_fold;
#[cfg(test)]
mod stripe;
#[cfg(test)]
mod stripe_sdk;
#[cfg(test)]
mod translated;
#[cfg(test)]
mod vendor_clients;
#[cfg(test)]
mod vendors;
#[cfg(test)]
mod vertex;
#[cfg(test)]
mod video_ark;
#[cfg(test)]
mod video_dashscope;
#[cfg(test)]
mod video_kling;
#[cfg(test)]
mod video_kling_directives;
#[cfg(test)]
mod video_media;
#[cfg(test)]
mod video_minimax;
#[cfg(test)]
mod video_openai;
