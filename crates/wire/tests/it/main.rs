//! Formats as vendors' SDKs and clients write them, each alone and in pairs.

#[cfg(test)]
mod assembled;
#[cfg(test)]
mod claude_messages;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod fields;
#[cfg(test)]
mod gemini;
#[cfg(test)]
mod openai_responses;
#[cfg(test)]
mod pairs;
#[cfg(test)]
mod speed;
