//! What can go wrong with speech and recognition beside the faults that every vendor knows.

use serde::{Deserialize, Serialize};

use super::FaultTextError;

/// One way of failing. It is written the same in a text (`[[fault:task_slow:3000]]`) and in a rule
/// (`{"fault": {"audio": "task_slow:3000"}}`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AudioFault {
    /// `dead_file`: the answer is good, and the address of its audio leads to nothing.
    DeadFile,
    /// `cut_file`: the download of the audio breaks off in its middle, every time.
    CutFile,
    /// `garbage_audio`: the audio inside JSON is neither hexadecimal nor base64.
    GarbageAudio,
    /// `task_fails`: a recognition task ends as failed.
    TaskFails,
    /// `task_odd`: while it runs, its state is an undocumented word.
    TaskOdd,
    /// `task_stuck`: it never ends.
    TaskStuck,
    /// `task_slow:3000`: it runs so many milliseconds.
    TaskSlow { millis: u32 },
    /// `dead_transcript`: it ends well, and the address of its transcript leads to nothing.
    DeadTranscript,
}

const DEFAULT_SLOW_MILLIS: u32 = 3_000;

impl AudioFault {
    pub(crate) fn from_text(text: &str) -> Result<Self, FaultTextError> {
        let (name, number) = match text.split_once(':') {
            Some((name, digits)) => (name, Some(digits)),
            None => (text, None),
        };
        let plain = match name {
            "dead_file" => Self::DeadFile,
            "cut_file" => Self::CutFile,
            "garbage_audio" => Self::GarbageAudio,
            "task_fails" => Self::TaskFails,
            "task_odd" => Self::TaskOdd,
            "task_stuck" => Self::TaskStuck,
            "dead_transcript" => Self::DeadTranscript,
            "task_slow" => {
                let millis = match number {
                    None => DEFAULT_SLOW_MILLIS,
                    Some(digits) => digits.parse().map_err(|_| FaultTextError::NotANumber)?,
                };
                return Ok(Self::TaskSlow { millis });
            }
            _ => return Err(FaultTextError::UnknownName),
        };
        match number {
            None => Ok(plain),
            Some(_) => Err(FaultTextError::TakesNoNumber),
        }
    }
}

impl TryFrom<String> for AudioFault {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let error_text = |error| match error {
            FaultTextError::UnknownName => "no fault of audio has this name",
            FaultTextError::NotANumber => "behind the colon stands a number",
            FaultTextError::TakesNoNumber => "this fault takes no number",
        };
        Self::from_text(&text).map_err(|error| error_text(error).to_owned())
    }
}

impl From<AudioFault> for String {
    fn from(fault: AudioFault) -> Self {
        let name = match fault {
            AudioFault::DeadFile => "dead_file",
            AudioFault::CutFile => "cut_file",
            AudioFault::GarbageAudio => "garbage_audio",
            AudioFault::TaskFails => "task_fails",
            AudioFault::TaskOdd => "task_odd",
            AudioFault::TaskStuck => "task_stuck",
            AudioFault::DeadTranscript => "dead_transcript",
            AudioFault::TaskSlow { millis } => return format!("task_slow:{millis}"),
        };
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_written_as_it_is_read() {
        for text in [
            "dead_file",
            "cut_file",
            "garbage_audio",
            "task_fails",
            "task_odd",
            "task_stuck",
            "task_slow:20",
            "dead_transcript",
        ] {
            let fault = AudioFault::from_text(text).expect(text);
            assert_eq!(String::from(fault), text);
            let json = serde_json::to_string(&fault).unwrap();
            assert_eq!(serde_json::from_str::<AudioFault>(&json).unwrap(), fault);
        }
        assert!(serde_json::from_str::<AudioFault>("\"dead_file:1\"").is_err());
        assert!(serde_json::from_str::<AudioFault>("\"nonsense\"").is_err());
    }
}
