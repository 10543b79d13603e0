//! Request bodies as documented: a structure must be a JSON object. Serde alone would also accept
//! an array of its members in order.

use std::fmt;

use actix_web::web;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    self, Deserialize, DeserializeOwned, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Number};

/// The body of a call.
pub type Body<T> = web::Json<Objects<T>>;

/// A value from JSON in which no structure was written as an array.
#[derive(Clone, Debug)]
pub struct Objects<T>(pub T);

impl<T> std::ops::Deref for Objects<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Objects<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tree = JsonTree::deserialize(deserializer)?;
        T::deserialize(tree).map(Objects).map_err(|error| de::Error::custom(error.to_string()))
    }
}

/// A JSON value with its members in order.
enum JsonTree {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<JsonTree>),
    Object(Vec<(String, JsonTree)>),
}

impl<'de> Deserialize<'de> for JsonTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JsonTreeVisitor;

        impl<'de> Visitor<'de> for JsonTreeVisitor {
            type Value = JsonTree;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<JsonTree, E> {
                Ok(JsonTree::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<JsonTree, E> {
                Ok(JsonTree::Bool(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<JsonTree, E> {
                Ok(JsonTree::Number(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<JsonTree, E> {
                Ok(JsonTree::Number(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<JsonTree, E> {
                Ok(Number::from_f64(value).map_or(JsonTree::Null, JsonTree::Number))
            }

            fn visit_str<E>(self, value: &str) -> Result<JsonTree, E> {
                Ok(JsonTree::Text(value.to_owned()))
            }

            fn visit_string<E>(self, value: String) -> Result<JsonTree, E> {
                Ok(JsonTree::Text(value))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<JsonTree, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(JsonTree::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<JsonTree, A::Error> {
                let mut object: Vec<(String, JsonTree)> = Vec::new();
                while let Some(member) = members.next_entry()? {
                    object.push(member);
                }
                Ok(JsonTree::Object(object))
            }
        }

        deserializer.deserialize_any(JsonTreeVisitor)
    }
}

impl JsonTree {
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            JsonTree::Null => Unexpected::Unit,
            JsonTree::Bool(value) => Unexpected::Bool(*value),
            JsonTree::Number(_) => Unexpected::Other("number"),
            JsonTree::Text(text) => Unexpected::Str(text),
            JsonTree::List(_) => Unexpected::Seq,
            JsonTree::Object(_) => Unexpected::Map,
        }
    }
}

impl IntoDeserializer<'_, Error> for JsonTree {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for JsonTree {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            JsonTree::Null => visitor.visit_unit(),
            JsonTree::Bool(value) => visitor.visit_bool(value),
            JsonTree::Number(number) => number.deserialize_any(visitor),
            JsonTree::Text(text) => visitor.visit_string(text),
            JsonTree::List(list) => visitor.visit_seq(SeqDeserializer::new(list.into_iter())),
            JsonTree::Object(members) => {
                visitor.visit_map(MapDeserializer::new(members.into_iter()))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            JsonTree::Null => visitor.visit_none(),
            some => visitor.visit_some(some),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    /// This is the check: an array is refused here.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            JsonTree::Object(_) => self.deserialize_any(visitor),
            other => Err(de::Error::invalid_type(other.unexpected(), &"a JSON object")),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            JsonTree::Text(word) => visitor.visit_enum(word.into_deserializer()),
            JsonTree::Object(members) => {
                let members = MapDeserializer::new(members.into_iter());
                visitor.visit_enum(de::value::MapAccessDeserializer::new(members))
            }
            other => Err(de::Error::invalid_type(
                other.unexpected(),
                &format!("{name}: one of {}", variants.join(", ")).as_str(),
            )),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use reelyard_api::{WantedLease, WantedPool};

    use super::*;

    fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
        let read = serde_json::from_str::<Objects<T>>(text);
        read.map(|Objects(value)| value).map_err(|error| error.to_string())
    }

    #[test]
    fn structures_must_be_objects_at_any_depth() {
        let wanted: WantedLease = read(r#"{"holder": "h", "ttl": "5s", "count": 2}"#).unwrap();
        assert_eq!((wanted.holder.as_str(), wanted.count), ("h", 2));
        let error = read::<WantedLease>(r#"["h", "5s"]"#).unwrap_err();
        assert!(error.contains("a JSON object"), "{error}");
        let slots =
            |slots: &str| read::<WantedPool>(&format!(r#"{{"size": 1, "slots": {slots}}}"#));
        assert!(slots(r#"{"first": 7, "count": 9}"#).is_ok());
        assert!(slots("[7, 9]").unwrap_err().contains("a JSON object"));
        assert!(slots("null").unwrap().slots.is_none());
        let labels = read::<WantedPool>(r#"{"size": 1, "labels": {"a": "b"}}"#).unwrap().labels;
        assert_eq!(labels.get("a").map(String::as_str), Some("b"));
        let error = read::<WantedPool>(r#"{"size": 1, "size": 2}"#).unwrap_err();
        assert!(error.contains("duplicate field `size`"), "{error}");
        let error = read::<WantedPool>(r#"{"size": 1, "sise": 2}"#).unwrap_err();
        assert!(error.contains("unknown field `sise`"), "{error}");
        assert!(read::<WantedPool>(r#"{"size": -1}"#).is_err());
    }
}
