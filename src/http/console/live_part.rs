//! A part of a page that follows changes.

use maud::Markup;

/// The id of an element of a page, and the element.
pub type LivePart = (String, Markup);
