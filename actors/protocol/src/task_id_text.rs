//! Task ids as JSON text, because they exceed the integers that JavaScript represents exactly.

/// For a member of type [`TaskId`](crate::worker::TaskId).
pub mod id_in_text {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::worker::TaskId;

    /// Writes the id as text.
    pub fn serialize<S: Serializer>(id: &TaskId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(id)
    }

    /// Reads the id from text. Fails on a text that is no integer.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TaskId, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(TaskId).map_err(serde::de::Error::custom)
    }
}

/// For a member of type `Option<TaskId>`. None is `null`.
pub mod optional_id_in_text {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::worker::TaskId;

    /// Writes the id as text, or `null`.
    pub fn serialize<S: Serializer>(id: &Option<TaskId>, serializer: S) -> Result<S::Ok, S::Error> {
        match id {
            Some(id) => serializer.collect_str(id),
            None => serializer.serialize_none(),
        }
    }

    /// Reads the id from text or `null`. Fails on a text that is no integer.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<TaskId>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let id = text.map(|text| text.parse().map(TaskId)).transpose();
        id.map_err(serde::de::Error::custom)
    }
}
