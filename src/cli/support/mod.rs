//! Code that commands share: arguments, output and failures.

pub(in crate::cli) mod certificate_authority;
pub(in crate::cli) mod enum_word;
pub(in crate::cli) mod failure;
pub(in crate::cli) mod instant;
pub(in crate::cli) mod layers;
pub(in crate::cli) mod password;
