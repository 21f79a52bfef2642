//! An email as a mail server got it.

#[derive(Debug, Clone)]
pub struct Mail {
    pub from: String,
    /// For whom, by its envelope.
    pub to: String,
    pub data: String,
}

// === impl Mail ===

impl Mail {
    pub(super) fn new(from: &str, to: &str, data: &str) -> Self {
        Self {
            from: from.to_owned(),
            to: to.to_owned(),
            data: data.to_owned(),
        }
    }

    /// A header's value, its lines put together.
    #[must_use]
    pub fn header(&self, name: &str) -> String {
        let head = self.data.split("\r\n\r\n").next().unwrap_or_default();
        let head = head.replace("\r\n ", " ").replace("\r\n\t", " ");
        let prefix = format!("{}:", name.to_lowercase());
        let line = head
            .lines()
            .find(|line| line.to_lowercase().starts_with(&prefix));
        let value = line.and_then(|line| line.split_once(':'));
        value.map_or_else(String::new, |(_, value)| value.trim().to_owned())
    }

    /// The plain text.
    #[must_use]
    pub fn text(&self) -> String {
        self.part("text/plain")
    }

    #[must_use]
    pub fn html(&self) -> String {
        self.part("text/html")
    }

    /// The first link of the plain text.
    #[must_use]
    pub fn link(&self) -> String {
        let text = self.text();
        let word = text
            .split_whitespace()
            .find(|word| word.starts_with("http"));
        word.unwrap_or_else(|| panic!("no link: {text}")).to_owned()
    }

    /// What stands behind the `#` of the link.
    #[must_use]
    pub fn token(&self) -> String {
        let link = self.link();
        let token = link.split_once('#').map(|(_, token)| token.to_owned());
        token.unwrap_or_else(|| panic!("no token: {link}"))
    }

    fn part(&self, kind: &str) -> String {
        let start = self.data.find(&format!("Content-Type: {kind}"));
        let start = start.unwrap_or_else(|| panic!("no {kind}: {}", self.data));
        let rest = self.data.get(start..).unwrap_or_default();
        let (head, body) = rest.split_once("\r\n\r\n").unwrap_or((rest, ""));
        // The next line that begins with two dashes is the border.
        let body = body.split("\r\n--").next().unwrap_or_default();
        if head.contains("quoted-printable") {
            return quoted_printable(body);
        }
        assert!(!head.contains("base64"), "a text in base64: {head}");
        body.to_owned()
    }
}

fn quoted_printable(text: &str) -> String {
    let joined = text.replace("=\r\n", "");
    let mut bytes = Vec::new();
    let mut rest = joined.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'=' {
            bytes.push(byte);
            continue;
        }
        let digits: Vec<u8> = rest.by_ref().take(2).collect();
        let digits = String::from_utf8(digits).expect("two digits follow");
        bytes.push(u8::from_str_radix(&digits, 16).expect("two digits follow"));
    }
    String::from_utf8(bytes).expect("an email is UTF-8")
}
