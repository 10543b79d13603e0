//! Stores a value as its text.

/// Implements serde for a type with `Display` and `FromStr`: the form of the value is its text, also in compact
/// formats. So its stored bytes do not depend on the layout of the type. The name is that of the type.
#[macro_export]
macro_rules! text_form {
    ($type:ident, $name:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_newtype_struct($name, &format_args!("{self}"))
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(rename = $name)]
                struct TextForm(String);

                let TextForm(text) = TextForm::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
