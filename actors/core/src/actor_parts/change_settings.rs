//! New settings at run time.

use actix::{Actor, Context, Handler, Message};

use crate::supervision::Supervised;

/// The actor uses these settings from now on. A reload of the configuration sends it to each actor whose
/// settings changed.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct ChangeSettings<S>(pub S);

impl<S: PartialEq + Send + 'static> ChangeSettings<S> {
    /// Sends an actor its settings of after a reload, if they differ from those of before.
    pub fn send<A>(actor: &Supervised<A>, (before, after): (S, S))
    where
        A: Actor<Context = Context<A>> + Handler<Self>,
    {
        if before != after {
            actor.addr().do_send(ChangeSettings(after));
        }
    }
}
