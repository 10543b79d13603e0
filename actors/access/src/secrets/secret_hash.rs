//! Declares the kinds of hashes of secrets.

/// Declares a hash of a secret: SHA-256 of its text. `Debug` shows only the beginning.
macro_rules! secret_hash {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        pub struct $name([u8; 32]);

        impl $name {
            /// The hash of a secret's whole text.
            pub(in crate::secrets) fn of_text(text: &str) -> Self {
                $name(<sha2::Sha256 as sha2::Digest>::digest(text.as_bytes()).into())
            }

            /// The 32 bytes of the hash.
            pub fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl From<[u8; 32]> for $name {
            fn from(bytes: [u8; 32]) -> Self {
                $name(bytes)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let [a, b, c, ..] = self.0;
                write!(f, concat!(stringify!($name), "({:02x}{:02x}{:02x}..)"), a, b, c)
            }
        }
    };
}

pub(super) use secret_hash;
