//! Boxes of a pool as a grid, coloured by state and marked by shape.

use maud::{Markup, html};

use crate::format::count;
use crate::parts::icon::{Glyph, shape};
use crate::text::{Text, states};
use crate::viewer::Viewer;

/// From this many boxes on the squares are small and have no numbers.
const SMALL_FROM: usize = 500;

/// The state of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxCondition {
    /// Nobody holds it.
    Free,
    /// It is made ready for a lease.
    Preparing,
    /// Somebody holds it.
    Leased,
    /// It is cleaned after a lease.
    Cleaning,
    /// It is out of use.
    Quarantined,
    /// The node does not know.
    Unknown,
}

impl BoxCondition {
    /// Every state, in the order of the legend.
    pub const ALL: [BoxCondition; 6] = [
        BoxCondition::Free,
        BoxCondition::Leased,
        BoxCondition::Preparing,
        BoxCondition::Cleaning,
        BoxCondition::Quarantined,
        BoxCondition::Unknown,
    ];

    /// Class, shape and word.
    pub const fn looks(self) -> (&'static str, Glyph, Text) {
        match self {
            BoxCondition::Free => ("free", Glyph::Wait, states::BOX_FREE),
            BoxCondition::Preparing => ("prep", Glyph::Work, states::BOX_PREPARING),
            BoxCondition::Leased => ("leased", Glyph::Up, states::BOX_LEASED),
            BoxCondition::Cleaning => ("drain", Glyph::Drain, states::BOX_CLEANING),
            BoxCondition::Quarantined => ("quar", Glyph::Quarantine, states::BOX_QUARANTINED),
            BoxCondition::Unknown => ("unk", Glyph::Unknown, states::UNKNOWN),
        }
    }
}

/// A square of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridBox {
    /// Number within the pool.
    pub number: u32,
    /// State.
    pub condition: BoxCondition,
}

/// The boxes as links to what is known about each.
pub fn box_grid(viewer: &Viewer, boxes: &[GridBox], address: &dyn Fn(u32) -> String) -> Markup {
    let is_small = boxes.len() >= SMALL_FROM;
    html! {
        div class={ "boxes " (if is_small { "small" } else { "big" }) } {
            @for item in boxes {
                @let (class, glyph, word) = item.condition.looks();
                @let number = item.number.to_string();
                @let values = [("n", number.as_str()), ("state", word.of(viewer.language))];
                a class=(class) href=(address(item.number)) aria-label=(states::BOX_LABEL.fill(viewer.language, &values)) {
                    (shape(glyph, ""))
                    @if !is_small { span { (number) } }
                }
            }
        }
    }
}

/// A count for each state.
pub fn box_legend(viewer: &Viewer, counts: &[(BoxCondition, u64)]) -> Markup {
    html! {
        div.legend.mt {
            @for (condition, boxes) in counts.iter().filter(|pair| pair.1 > 0) {
                @let (class, glyph, word) = condition.looks();
                span { (shape(glyph, &format!("lgx {class}"))) (word.of(viewer.language)) " " b { (count(*boxes)) } }
            }
        }
    }
}

/// Small squares without links, as the overview has them; at most 200.
pub fn mini_boxes(counts: &[(BoxCondition, u64)]) -> Markup {
    let total: u64 = counts.iter().map(|pair| pair.1).sum();
    let scale = total.div_ceil(200).max(1);
    html! {
        div.boxes.mini aria-hidden="true" {
            @for (condition, boxes) in counts {
                @let (class, glyph, _) = condition.looks();
                @for _ in 0..boxes.div_ceil(scale) { span class=(class) { (shape(glyph, "")) } }
            }
        }
    }
}
