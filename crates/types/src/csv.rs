//! CSV (RFC 4180), safe to open in a spreadsheet: a text that a spreadsheet would run as a formula gets an
//! apostrophe as its prefix.

/// A spreadsheet runs what begins with one of these.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];
const END: &str = "\r\n";

pub fn write(text: &mut String, fields: &[String]) {
    for (place, field) in fields.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        push(text, field);
    }
    text.push_str(END);
}

fn push(text: &mut String, field: &str) {
    let formula = field.starts_with(FORMULA) && !is_amount(field);
    let quoted = field.contains(['"', ',', '\r', '\n']);
    if quoted {
        text.push('"');
    }
    if formula {
        text.push('\'');
    }
    if quoted {
        text.push_str(&field.replace('"', "\"\""));
        text.push('"');
    } else {
        text.push_str(field);
    }
}

/// A number below zero begins with a sign and is nothing to run.
fn is_amount(field: &str) -> bool {
    let digits = field.strip_prefix('-');
    digits.is_some_and(|digits| {
        let dots = digits.bytes().filter(|byte| *byte == b'.').count();
        let plain = digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        plain && dots <= 1 && digits.starts_with(|first: char| first.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_spreadsheet_would_run_or_split_is_made_harmless() {
        let one = |field: &str| {
            let mut text = String::new();
            push(&mut text, field);
            text
        };
        for (field, written) in [
            ("plain", "plain"),
            ("0.000000001", "0.000000001"),
            ("-0.0004", "-0.0004"),
            ("-1", "-1"),
            ("-1-1", "'-1-1"),
            ("-.5", "'-.5"),
            ("-1.2.3", "'-1.2.3"),
            ("-", "'-"),
            ("-x", "'-x"),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("@sum", "'@sum"),
            ("\tx", "'\tx"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\""),
            ("a\nb", "\"a\nb\""),
        ] {
            assert_eq!(one(field), written, "{field:?}");
        }
        let mut text = String::new();
        write(&mut text, &["a".to_owned(), "=b".to_owned()]);
        write(&mut text, &[String::new(), "c".to_owned()]);
        assert_eq!(text, "a,'=b\r\n,c\r\n");
    }
}
