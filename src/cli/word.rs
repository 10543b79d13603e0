//! Words of the API on the command line: read and written as its JSON has them.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The value that a word stands for.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_value(text.into())
}

/// The word for a value.
pub fn of(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        // What is no word has none; a node refuses it with all it would take.
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use reelyard_actors::wire::api::FileState;

    use super::*;

    #[test]
    fn a_word_is_as_in_json() {
        assert_eq!(read::<FileState>("backing_off").unwrap(), FileState::BackingOff);
        assert_eq!(of(FileState::BackingOff), "backing_off");
        let refused = read::<FileState>("gone").unwrap_err().to_string();
        assert!(refused.contains("placed"), "{refused}");
    }
}
