//! The declaration of one setting.

use serde::Serialize;

/// The value of a setting that is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The declared text is the default.
    Default,
    /// The setting is absent; the declared text is an example.
    Optional,
    /// The setting is required; the declared text is an example.
    Required,
}

/// When a changed value takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TakesEffect {
    /// At a reload of the configuration.
    AtOnce,
    /// When the process starts again.
    Restart,
}

/// Whether all nodes share the value of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All nodes of a cluster need the same value, because the leader decides by it.
    Cluster,
    /// Each process has its own value: addresses, paths, limits of its machine.
    Node,
}

/// When and where a value applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applicability {
    /// When a changed value takes effect.
    pub effect: TakesEffect,
    /// The cluster, or each node.
    pub scope: Scope,
}

impl Applicability {
    /// At once, in the cluster: the default for declarations.
    pub const USUAL: Self = Applicability { effect: TakesEffect::AtOnce, scope: Scope::Cluster };

    /// A change takes effect at a reload.
    pub const fn at_once(self) -> Self {
        Applicability { effect: TakesEffect::AtOnce, ..self }
    }

    /// A change takes effect after a restart.
    pub const fn restart(self) -> Self {
        Applicability { effect: TakesEffect::Restart, ..self }
    }

    /// Each process has its own value.
    pub const fn node(self) -> Self {
        Applicability { scope: Scope::Node, ..self }
    }
}

/// A setting as it is declared.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// The value if the setting is not set.
    pub presence: Presence,
    /// Default or example, as in a `--set` argument.
    pub text: &'static str,
    /// When and where a value applies.
    pub applies: Applicability,
}
