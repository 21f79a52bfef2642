//! What is heard: words chosen by the bytes of the audio and nothing else, so that a test can
//! foresee them. Each of the first twelve hexadecimal digits of the SHA-256 of the file is one word of a
//! list of sixteen; four words are a sentence.

/// A language and its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Language {
    pub(crate) code: &'static str,
    /// As the vendors write it out.
    pub(crate) name: &'static str,
    words: [&'static str; 16],
    between: &'static str,
    full_stop: &'static str,
}

/// What was heard in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) language: Language,
    sentences: Vec<Vec<&'static str>>,
    /// Stands before the first sentence.
    opening: &'static str,
}

/// A stretch of what was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimedText {
    pub(crate) begin_millis: u64,
    pub(crate) end_millis: u64,
    pub(crate) text: String,
}

const WORDS: usize = 12;
const WORDS_PER_SENTENCE: usize = 4;
const TRANSLATION_OPENING: &str = "In English it says: ";

const ENGLISH: Language = Language {
    code: "en",
    name: "english",
    words: [
        "river", "stone", "light", "bread", "garden", "window", "silver", "morning", "winter",
        "paper", "market", "bridge", "forest", "candle", "harbour", "summer",
    ],
    between: " ",
    full_stop: ".",
};
const LANGUAGES: [Language; 6] = [
    ENGLISH,
    Language {
        code: "zh",
        name: "chinese",
        words: [
            "河流", "石头", "光明", "面包", "花园", "窗户", "白银", "早晨", "冬天", "纸张", "市场",
            "桥梁", "森林", "蜡烛", "港口", "夏天",
        ],
        between: "",
        full_stop: "。",
    },
    Language {
        code: "es",
        name: "spanish",
        words: [
            "río", "piedra", "luz", "pan", "jardín", "ventana", "plata", "mañana", "invierno",
            "papel", "mercado", "puente", "bosque", "vela", "puerto", "verano",
        ],
        between: " ",
        full_stop: ".",
    },
    Language {
        code: "fr",
        name: "french",
        words: [
            "rivière", "pierre", "lumière", "pain", "jardin", "fenêtre", "argent", "matin",
            "hiver", "papier", "marché", "pont", "forêt", "bougie", "port", "été",
        ],
        between: " ",
        full_stop: ".",
    },
    Language {
        code: "de",
        name: "german",
        words: [
            "Fluss", "Stein", "Licht", "Brot", "Garten", "Fenster", "Silber", "Morgen", "Winter",
            "Papier", "Markt", "Brücke", "Wald", "Kerze", "Hafen", "Sommer",
        ],
        between: " ",
        full_stop: ".",
    },
    Language {
        code: "ja",
        name: "japanese",
        words: [
            "川", "石", "光", "パン", "庭", "窓", "銀", "朝", "冬", "紙", "市場", "橋", "森",
            "蝋燭", "港", "夏",
        ],
        between: "",
        full_stop: "。",
    },
];

/// What the simulator hears in a file with this SHA-256, in this language (ISO 639-1; English for
/// every other).
#[must_use]
pub fn transcript(file_sha256: &[u8; 32], language: &str) -> String {
    Words::for_audio(file_sha256, Some(language)).text()
}

/// The same, translated into English.
#[must_use]
pub fn translation(file_sha256: &[u8; 32]) -> String {
    Words::translated(file_sha256).text()
}

// === impl Language ===

impl Language {
    /// By its ISO 639-1 code; English for those that are not spoken here.
    fn spoken(code: Option<&str>) -> Self {
        let mut known = LANGUAGES.into_iter();
        known
            .find(|language| Some(language.code) == code)
            .unwrap_or(ENGLISH)
    }
}

// === impl Words ===

impl Words {
    pub(crate) fn for_audio(file_sha256: &[u8; 32], language: Option<&str>) -> Self {
        let language = Language::spoken(language);
        let digits = file_sha256.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
        let words: Vec<&str> = digits
            .take(WORDS)
            .filter_map(|digit| language.words.get(usize::from(digit)).copied())
            .collect();
        Self {
            language,
            sentences: words
                .chunks(WORDS_PER_SENTENCE)
                .map(<[&str]>::to_vec)
                .collect(),
            opening: "",
        }
    }

    pub(crate) fn translated(file_sha256: &[u8; 32]) -> Self {
        let mut words = Self::for_audio(file_sha256, None);
        words.opening = TRANSLATION_OPENING;
        words
    }

    pub(crate) fn text(&self) -> String {
        let texts: Vec<String> = self.texts().collect();
        texts.join(self.language.between)
    }

    /// How many words there are.
    pub(crate) fn count(&self) -> u64 {
        crate::tokens::count(self.sentences.iter().map(Vec::len).sum())
    }

    /// The pieces in which a stream tells them; together they are the text.
    pub(crate) fn pieces(&self) -> Vec<String> {
        let mut pieces: Vec<String> = Vec::new();
        for text in self.texts() {
            if let Some(last) = pieces.last_mut() {
                last.push_str(self.language.between);
            }
            pieces.push(text);
        }
        pieces
    }

    /// The sentences, spread evenly over so many milliseconds.
    pub(crate) fn sentences(&self, millis: u64) -> Vec<TimedText> {
        spread(self.texts().collect(), millis)
    }

    pub(crate) fn words(&self, millis: u64) -> Vec<TimedText> {
        let words = self.sentences.iter().flatten();
        spread(words.map(|word| (*word).to_owned()).collect(), millis)
    }

    fn texts(&self) -> impl Iterator<Item = String> {
        let language = self.language;
        (0u64..).zip(&self.sentences).map(move |(index, words)| {
            let opening = if index == 0 { self.opening } else { "" };
            let words = words.join(language.between);
            format!("{opening}{words}{}", language.full_stop)
        })
    }
}

fn spread(texts: Vec<String>, millis: u64) -> Vec<TimedText> {
    let count = crate::tokens::count(texts.len());
    let until = |index: u64| {
        let share = millis.saturating_mul(index);
        share.checked_div(count).unwrap_or(0)
    };
    let stretch = |(index, text): (u64, String)| TimedText {
        begin_millis: until(index),
        end_millis: until(index.saturating_add(1)),
        text,
    };
    (0u64..).zip(texts).map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest() -> [u8; 32] {
        let mut digest = [0; 32];
        digest[..6].copy_from_slice(&[0x01, 0x23, 0x45, 0x67, 0x89, 0xab]);
        digest
    }

    #[test]
    fn a_digit_of_the_hash_is_a_word() {
        assert_eq!(
            transcript(&digest(), "en"),
            "river stone light bread. garden window silver morning. winter paper market bridge."
        );
        assert!(transcript(&digest(), "zh").starts_with("河流石头光明面包。"));
        assert_eq!(transcript(&digest(), "xx"), transcript(&digest(), "en"));
        let english = translation(&digest());
        assert!(english.starts_with("In English it says: river stone"));
    }

    #[test]
    fn sentences_and_pieces_are_the_whole_text() {
        for code in ["en", "zh"] {
            let words = Words::for_audio(&digest(), Some(code));
            assert_eq!(words.pieces().concat(), words.text());
            let sentences = words.sentences(1_000);
            assert_eq!(sentences.len(), 3);
            assert_eq!(sentences[0].begin_millis, 0);
            assert_eq!(sentences[0].end_millis, sentences[1].begin_millis);
            assert_eq!(sentences[2].end_millis, 1_000);
            assert_eq!(words.words(1_200)[11].begin_millis, 1_100);
        }
    }
}
