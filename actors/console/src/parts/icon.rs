//! Shapes of states and icons, from the sprite of the node.

use std::sync::LazyLock;

use maud::{Markup, html};

use crate::assets::SPRITE;

static SPRITE_ADDRESS: LazyLock<String> = LazyLock::new(|| SPRITE.address());

macro_rules! glyphs {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)+) => {
        /// A symbol of the sprite.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Glyph { $($(#[$doc])* $name,)+ }

        impl Glyph {
            /// Every symbol.
            pub const ALL: &[Glyph] = &[$(Glyph::$name),+];

            /// The id of the symbol in the sprite.
            pub const fn id(self) -> &'static str {
                match self { $(Glyph::$name => $id),+ }
            }
        }
    };
}

glyphs! {
    /// Disc: as it should be.
    Up = "up",
    /// Half disc: under way.
    Work = "work",
    /// Ring: waits, or free.
    Wait = "wait",
    /// Triangle: needs a look soon.
    Warn = "warn",
    /// Square with a cross: broken now.
    Down = "down",
    /// Diamond with an arrow: becomes empty.
    Drain = "drain",
    /// Square with two bars: stopped by a person.
    Maintenance = "maint",
    /// Octagon with a bar: out of use.
    Quarantine = "quar",
    /// Ring with a stroke: left out on purpose.
    Off = "off",
    /// Dashed ring: not known.
    Unknown = "unk",
    /// Tick: finished.
    Done = "done",
    /// Two chevrons: rising.
    Rise = "rise",
    /// Door: removed.
    Gone = "gone",
    /// Open arc on dashes: tried again.
    Probation = "prob",
    /// Pin: protected from removal.
    Pin = "pin",
    /// A magnifier.
    Search = "search",
    /// Three dots.
    Dots = "dots",
    /// Two sheets.
    Copy = "copy",
    /// Cross: closes or cancels.
    Cross = "x",
    /// Both orders of a column.
    Sort = "sort",
    /// Smallest first.
    Ascending = "asc",
    /// Largest first.
    Descending = "desc",
    /// Chevron down.
    Chevron = "dn",
    /// Arrow to the right.
    Arrow = "arrow",
    /// Half-filled disc.
    Theme = "theme",
    /// Globe: choice of the language.
    Globe = "globe",
    /// A person.
    User = "user",
    /// A question mark.
    Help = "help",
    /// Key: records of the audit.
    Key = "key",
    /// Lock: asks for a password.
    Lock = "lock",
    /// Clock: a page without live updates.
    Clock = "clock",
    /// Arrow to a ground line.
    Download = "dl",
    /// Arrow in a circle.
    Retry = "retry",
    /// Plus: makes a new one.
    Plus = "plus",
    /// Terminal: an action.
    Terminal = "term",
    /// Three lines.
    More = "more",
    /// Page of the yard.
    NavYard = "n-yard",
    /// Page of the hosts.
    NavHosts = "n-hosts",
    /// Page of the files.
    NavFiles = "n-files",
    /// Page of the tasks.
    NavTasks = "n-tasks",
    /// Page of the plan.
    NavPlan = "n-plan",
    /// Page of the map.
    NavMap = "n-map",
    /// Page of the shares.
    NavShares = "n-shares",
    /// Page of the boxes.
    NavBoxes = "n-boxes",
    /// Page of the history.
    NavHistory = "n-history",
    /// Page of the cluster.
    NavCluster = "n-cluster",
    /// Page of the settings.
    NavSettings = "n-set",
    /// The mark of the product.
    Brand = "brand",
    /// The line of the mark.
    BrandLine = "brand2",
}

/// The address of a symbol, for `use`.
pub fn symbol(glyph: Glyph) -> String {
    format!("{}#{}", *SPRITE_ADDRESS, glyph.id())
}

/// A symbol that says nothing by itself: words stand beside it.
pub fn icon(glyph: Glyph) -> Markup {
    shape(glyph, "i")
}

/// A symbol with classes of its own.
pub fn shape(glyph: Glyph, class: &str) -> Markup {
    html! {
        svg class=(class) viewBox="0 0 16 16" aria-hidden="true" { use href=(symbol(glyph)) {} }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sprite_has_exactly_these_symbols() {
        let sprite = std::str::from_utf8(SPRITE.bytes).unwrap();
        for glyph in Glyph::ALL {
            let id = format!("id=\"{}\"", glyph.id());
            assert_eq!(sprite.matches(&id).count(), 1, "{}", glyph.id());
        }
        assert_eq!(sprite.matches("<symbol").count(), Glyph::ALL.len());
    }
}
