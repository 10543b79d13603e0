//! Pages without the frame of the console: share links for visitors, and the sign-in. Style, shapes and script are
//! part of each document, so that the server of the links needs no further addresses.

mod document;
mod link_page;
mod link_refusal;
mod sign_in;

pub use document::{CardContext, ChoiceForm, link_policy, sign_in_policy};
pub use link_page::{
    LinkContents, LinkPageModel, LinkedDownload, LinkedEntry, QrPicture, link_page, password_page,
};
pub use link_refusal::{LinkRefusalKind, LinkRefusalModel, link_refusal};
pub use sign_in::{SignInModel, SignInRefusal, SignInStep, sign_in};
