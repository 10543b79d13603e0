//! Bodies of calls as their documentation has them: a thing with named members is a JSON object. Serde
//! would take an array of its members as well, in their order.

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

/// What was read from JSON in which nothing with named members was an array.
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
        let tree = Tree::deserialize(deserializer)?;
        T::deserialize(tree).map(Objects).map_err(|error| de::Error::custom(error.to_string()))
    }
}

/// JSON, with its members in order.
enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;

        impl<'de> Visitor<'de> for Reading {
            type Value = Tree;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Tree, E> {
                Ok(Tree::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
                Ok(Tree::Bool(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
                Ok(Tree::Number(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
                Ok(Tree::Number(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
                Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
            }

            fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
                Ok(Tree::Text(value.to_owned()))
            }

            fn visit_string<E>(self, value: String) -> Result<Tree, E> {
                Ok(Tree::Text(value))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Tree::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Tree, A::Error> {
                let mut object: Vec<(String, Tree)> = Vec::new();
                while let Some(member) = members.next_entry()? {
                    object.push(member);
                }
                Ok(Tree::Object(object))
            }
        }

        deserializer.deserialize_any(Reading)
    }
}

impl Tree {
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Tree::Null => Unexpected::Unit,
            Tree::Bool(value) => Unexpected::Bool(*value),
            Tree::Number(_) => Unexpected::Other("number"),
            Tree::Text(text) => Unexpected::Str(text),
            Tree::List(_) => Unexpected::Seq,
            Tree::Object(_) => Unexpected::Map,
        }
    }
}

impl IntoDeserializer<'_, Error> for Tree {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Tree {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Tree::Null => visitor.visit_unit(),
            Tree::Bool(value) => visitor.visit_bool(value),
            Tree::Number(number) => number.deserialize_any(visitor),
            Tree::Text(text) => visitor.visit_string(text),
            Tree::List(list) => visitor.visit_seq(SeqDeserializer::new(list.into_iter())),
            Tree::Object(members) => visitor.visit_map(MapDeserializer::new(members.into_iter())),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Tree::Null => visitor.visit_none(),
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

    /// Here it is: no array.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Tree::Object(_) => self.deserialize_any(visitor),
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
            Tree::Text(word) => visitor.visit_enum(word.into_deserializer()),
            Tree::Object(members) => {
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
    use reelyard_actors::wire::api::{WantedLease, WantedPool};

    use super::*;

    fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
        let read = serde_json::from_str::<Objects<T>>(text);
        read.map(|Objects(value)| value).map_err(|error| error.to_string())
    }

    #[test]
    fn what_has_named_members_is_an_object_at_any_depth() {
        let wanted: WantedLease = read(r#"{"holder": "h", "ttl": "5s", "count": 2}"#).unwrap();
        assert_eq!((wanted.holder.as_str(), wanted.count), ("h", 2));
        let told = read::<WantedLease>(r#"["h", "5s"]"#).unwrap_err();
        assert!(told.contains("a JSON object"), "{told}");
        let slots =
            |slots: &str| read::<WantedPool>(&format!(r#"{{"size": 1, "slots": {slots}}}"#));
        assert!(slots(r#"{"first": 7, "count": 9}"#).is_ok());
        assert!(slots("[7, 9]").unwrap_err().contains("a JSON object"));
        assert!(slots("null").unwrap().slots.is_none());
        let labels = read::<WantedPool>(r#"{"size": 1, "labels": {"a": "b"}}"#).unwrap().labels;
        assert_eq!(labels.get("a").map(String::as_str), Some("b"));
        let told = read::<WantedPool>(r#"{"size": 1, "size": 2}"#).unwrap_err();
        assert!(told.contains("duplicate field `size`"), "{told}");
        let told = read::<WantedPool>(r#"{"size": 1, "sise": 2}"#).unwrap_err();
        assert!(told.contains("unknown field `sise`"), "{told}");
        assert!(read::<WantedPool>(r#"{"size": -1}"#).is_err());
    }
}
