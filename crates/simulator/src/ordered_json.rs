//! JSON objects written field by field, in the order of the vendor: for documents too varied to
//! have a type each.

use serde::Serialize;

/// An object that is being written.
#[derive(Clone, Debug)]
pub(crate) struct OrderedJson(String);

// === impl OrderedJson ===

impl OrderedJson {
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// A field with any value that has a JSON form.
    pub(crate) fn with(self, name: &str, value: &(impl Serialize + ?Sized)) -> Self {
        // Values here are texts, numbers and JSON: they always have a form.
        let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
        self.raw(name, &json)
    }

    /// A field whose JSON is written already.
    pub(crate) fn raw(mut self, name: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
        self.0.push_str(json);
        self
    }

    /// A field that is left out if there is nothing to say.
    pub(crate) fn maybe(self, name: &str, value: Option<&(impl Serialize + ?Sized)>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn done(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A list of values whose JSON is written already.
pub(crate) fn list(values: &[String]) -> String {
    format!("[{}]", values.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_in_the_order_in_which_they_were_written() {
        let inner = OrderedJson::new().with("b", "x\"y").done();
        let outer = OrderedJson::new()
            .raw("z", &list(&[inner.clone(), inner]))
            .maybe("left_out", None::<&str>)
            .with("a", &7);
        assert_eq!(outer.done(), r#"{"z":[{"b":"x\"y"},{"b":"x\"y"}],"a":7}"#);
        assert_eq!(OrderedJson::new().done(), "{}");
    }
}
