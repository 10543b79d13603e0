//! The messages between nodes and workers that host boxes: names and ids of boxes, calls of hooks, and
//! their form over HTTP.

mod calls;
mod http;
mod id;
mod text;

pub use calls::{
    AdoptBoxes, BoxHosts, BoxInspection, HookAnswer, HookKind, HookTarget, InspectBoxes,
    InspectedBox, ProbeFailure, ProbeHost, RunHook,
};
pub use http::{
    BoxAdoptionRequest, BoxAdoptionResponse, BoxFinding, BoxHookKind, BoxInspectionRequest,
    BoxInspectionResponse, BoxRunTarget, HookRunRequest, HookRunResponse,
};
pub use id::{BadLeaseId, BoxNumber, FenceToken, IdRange, LeaseId, SlotId};
pub use text::{
    BadBoxText, Holder, HookOutput, HooksName, LONGEST_HOLDER, LONGEST_NAME, LONGEST_OUTPUT,
    LONGEST_REASON, PoolName, Reason,
};
