//! Ways to hand a file to the probe. All of them must come to the same end.

use trunkline_probe::visual::{MAX_BYTES, MAX_NEED_BYTES, MediaInfo, Probe, ProbeError, Step};

/// How bytes are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedMode {
    /// Parts as asked for, and the length of the file is known.
    Parts,
    /// The same, of unknown length.
    Unknown,
    /// The length is learned with the first part.
    Learned,
    /// At most so many bytes at a time.
    Trickle(usize),
    /// From the start, in pieces that take no notice of what is asked for.
    FromStart(usize),
}

pub(crate) const FEED_MODES: [FeedMode; 5] = [
    FeedMode::Parts,
    FeedMode::Unknown,
    FeedMode::Learned,
    FeedMode::Trickle(61),
    FeedMode::FromStart(1000),
];

/// What came of it, and what it cost.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) outcome: Result<MediaInfo, ProbeError>,
    pub(crate) needs: usize,
    pub(crate) bytes: usize,
}

/// A file with a stretch of zeros that is not in memory.
pub(crate) struct File<'a> {
    pub(crate) head: &'a [u8],
    pub(crate) gap: u64,
    pub(crate) tail: &'a [u8],
}

impl File<'_> {
    pub(crate) fn length(&self) -> u64 {
        self.head.len() as u64 + self.gap + self.tail.len() as u64
    }

    fn part(&self, start: u64, length: u64) -> Vec<u8> {
        let end = self.length().min(start.saturating_add(length));
        let gap_at = self.head.len() as u64;
        let tail_at = gap_at + self.gap;
        // What of a stretch that begins at `at` lies between start and end.
        let within = |bytes: &[u8], at: u64| {
            let from = usize::try_from(start.clamp(at, at + bytes.len() as u64) - at).unwrap();
            let to = usize::try_from(end.clamp(at, at + bytes.len() as u64) - at).unwrap();
            bytes[from.min(to)..to].to_vec()
        };
        let zeros = end.clamp(gap_at, tail_at) - start.clamp(gap_at, tail_at).min(end.max(gap_at));
        let zeros = vec![0; usize::try_from(zeros).unwrap()];
        [within(self.head, 0), zeros, within(self.tail, tail_at)].concat()
    }
}

pub(crate) fn run(file: &File<'_>, manner: FeedMode) -> Run {
    let total = (manner == FeedMode::Parts).then(|| file.length());
    let mut probe = Probe::new(total);
    let (mut needs, mut bytes, mut last) = (0, 0, 0);
    let mut streamed: u64 = 0;
    loop {
        let need = match probe.step() {
            Step::Need(need) => need,
            Step::Done(measured) => {
                assert_eq!(probe.step(), Step::Done(measured), "said again");
                return Run {
                    outcome: Ok(measured),
                    needs,
                    bytes,
                };
            }
            Step::Failed(reason) => {
                assert_eq!(probe.step(), Step::Failed(reason), "said again");
                return Run {
                    outcome: Err(reason),
                    needs,
                    bytes,
                };
            }
        };
        assert!(
            need.start >= last,
            "it went back from {last} to {}",
            need.start
        );
        assert!(need.length > 0 && need.length <= MAX_NEED_BYTES, "{need:?}");
        last = need.start;
        needs += 1;
        match manner {
            FeedMode::Parts | FeedMode::Unknown | FeedMode::Learned | FeedMode::Trickle(_) => {
                let most = match manner {
                    FeedMode::Trickle(most) => need.length.min(most as u64),
                    FeedMode::Parts
                    | FeedMode::Unknown
                    | FeedMode::Learned
                    | FeedMode::FromStart(_) => need.length,
                };
                let part = file.part(need.start, most);
                if manner == FeedMode::Learned {
                    probe.set_total(file.length());
                }
                bytes += part.len();
                probe.push(need.start, &part);
            }
            FeedMode::FromStart(piece) => {
                // All that comes is handed over until what is needed has come.
                while streamed < need.start + need.length {
                    let part = file.part(streamed, piece as u64);
                    if part.is_empty() {
                        probe.set_total(file.length());
                        probe.push(file.length(), &[]);
                        break;
                    }
                    bytes += part.len();
                    probe.push(streamed, &part);
                    streamed += part.len() as u64;
                }
            }
        }
        assert!((bytes as u64) <= MAX_BYTES + MAX_NEED_BYTES);
    }
}

/// The same end in every manner.
pub(crate) fn measure(row: &str, bytes: &[u8]) -> Result<MediaInfo, ProbeError> {
    let file = File {
        head: bytes,
        gap: 0,
        tail: &[],
    };
    let first = run(&file, FeedMode::Parts).outcome;
    for manner in FEED_MODES {
        let other = run(&file, manner).outcome;
        assert_eq!(other, first, "{row}, {manner:?}");
    }
    first
}
