//! The golden corpus: one folder per conversation. A new case is a new folder.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use trunkline_wire::canonical::Conversation;
use trunkline_wire::{Format, PathParams, Request, RequestError};

/// One conversation.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// The format of the request, and its body.
    pub(crate) request: (Format, Vec<u8>),
    /// What an upstream of a format answers, whole.
    pub(crate) answer: Option<(Format, Vec<u8>)>,
    /// The same as a stream.
    pub(crate) stream: Option<(Format, Vec<u8>)>,
}

/// All of it, in the order of names.
pub(crate) fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut folders: Vec<PathBuf> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders.into_iter().map(read_case).collect()
}

fn read_case(folder: PathBuf) -> Case {
    let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let find = |what: &str, stream_end: &str| {
        let mut found = Format::ALL.into_iter().filter_map(|format| {
            let path = folder.join(format!("{what}.{}.{stream_end}", format.as_str()));
            fs::read(path).ok().map(|bytes| (format, bytes))
        });
        let first = found.next();
        assert!(found.next().is_none(), "{name}: two of {what}");
        first
    };
    let request = find("request", "json").unwrap_or_else(|| panic!("{name}: no request"));
    let (answer, stream) = (find("answer", "json"), find("stream", "sse"));
    Case {
        name,
        folder,
        request,
        answer,
        stream,
    }
}

impl Case {
    /// The request as the gateway reads it; some are refused before a vendor is asked.
    pub(crate) fn read(&self) -> Result<Request, RequestError> {
        let (format, body) = &self.request;
        Request::read(*format, Bytes::copy_from_slice(body), in_path(*format))
    }

    /// The conversation; none where the request is refused.
    pub(crate) fn conversation(&self) -> Option<Conversation> {
        let read = self.read().ok()?.canonical();
        Some(read.unwrap_or_else(|refusal| panic!("{}: {refusal}", self.name)))
    }
}

/// Google's address names the model.
pub(crate) fn in_path(format: Format) -> PathParams<'static> {
    PathParams {
        model: (format == Format::Gemini).then_some("public/model"),
        stream: false,
    }
}

#[test]
fn the_corpus_holds_many_conversations_of_every_format() {
    let cases = cases();
    assert!(cases.len() >= 60, "{}", cases.len());
    for format in Format::ALL {
        let requests = cases.iter().filter(|case| case.request.0 == format);
        assert!(requests.count() >= 15, "requests of {}", format.as_str());
        let is_of = |it: &Option<(Format, Vec<u8>)>| it.as_ref().is_some_and(|it| it.0 == format);
        assert!(cases.iter().filter(|case| is_of(&case.answer)).count() >= 15);
        assert!(cases.iter().filter(|case| is_of(&case.stream)).count() >= 15);
    }
}
