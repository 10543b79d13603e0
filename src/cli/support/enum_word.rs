//! Enum values on the command line, as the same words that the JSON of the API uses.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};
use serde_json::Value;

/// Parses a word into a value.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_value(text.into())
}

/// A clap parser for the words of `T`, whose variants have no data. `--help` and errors list the
/// words.
pub fn parser<T: DeserializeOwned + Clone + Send + Sync + 'static>()
-> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words::<T>()).try_map(|word| read::<T>(&word))
}

/// The words of `T`, in the order of declaration.
pub fn words<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut words: &'static [&'static str] = &[];
    // Always an error: only the list of variants is needed.
    let _ = T::deserialize(VariantList(&mut words));
    words
}

/// A deserializer that records the variants of an enum and reads nothing.
struct VariantList<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for VariantList<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Error::custom("not an enum of words"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = variants;
        Err(Error::custom("only the variants are read"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The word for a value.
pub fn of(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        // Other values have no word. The node refuses the empty text and lists the allowed words.
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use reelyard_api::FileState;

    use super::*;

    #[test]
    fn a_word_is_as_in_json() {
        assert_eq!(read::<FileState>("backing_off").unwrap(), FileState::BackingOff);
        assert_eq!(of(FileState::BackingOff), "backing_off");
        let refused = read::<FileState>("gone").unwrap_err().to_string();
        assert!(refused.contains("placed"), "{refused}");
    }

    #[test]
    fn the_words_of_an_enum_are_listed() {
        assert!(words::<FileState>().contains(&"backing_off"));
        assert!(words::<u32>().is_empty());
    }
}
