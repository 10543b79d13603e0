//! The person who looks at a page, and the choices of that person.

use jiff::tz::TimeZone;

use crate::text::{Language, Text, frame};

/// Cookie with the language of the pages.
pub const LANGUAGE_COOKIE: &str = "reelyard_language";
/// Cookie with the colours of the pages.
pub const THEME_COOKIE: &str = "reelyard_theme";

/// An instant, in Unix milliseconds, as the API gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub i64);

impl Moment {
    /// Whole seconds from this instant until `now`; 0 for an instant in the future.
    pub const fn seconds_until(self, now: Moment) -> u64 {
        let millis = now.0.saturating_sub(self.0);
        if millis < 0 { 0 } else { millis.unsigned_abs() / 1000 }
    }
}

/// The colours of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// The browser decides by its preferences.
    #[default]
    Auto,
    /// Dark text on white.
    Light,
    /// Light text on near black.
    Dark,
    /// High contrast: all pairs of text are at least 7:1.
    Contrast,
}

impl Theme {
    /// Every theme, in the order of the switch.
    pub const ALL: [Theme; 4] = [Theme::Auto, Theme::Light, Theme::Dark, Theme::Contrast];

    /// The word of the cookie and of the attribute `data-theme`.
    pub const fn word(self) -> &'static str {
        match self {
            Theme::Auto => "auto",
            Theme::Light => "light",
            Theme::Dark => "dark",
            Theme::Contrast => "contrast",
        }
    }

    /// Its name for people.
    pub const fn name(self) -> Text {
        match self {
            Theme::Auto => frame::THEME_AUTO,
            Theme::Light => frame::THEME_LIGHT,
            Theme::Dark => frame::THEME_DARK,
            Theme::Contrast => frame::THEME_CONTRAST,
        }
    }

    /// The theme with this word.
    pub fn from_word(word: &str) -> Option<Theme> {
        Theme::ALL.into_iter().find(|theme| theme.word() == word)
    }
}

/// The height of the rows of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Density {
    /// Rows of 36 pixels.
    #[default]
    Usual,
    /// Rows of 28 pixels.
    Compact,
}

/// Rights that decide which actions a page shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ViewerRights {
    /// May change hosts, files and tasks.
    pub storage: bool,
    /// May create, change and revoke share links.
    pub shares: bool,
    /// May change pools, boxes and leases.
    pub boxes: bool,
    /// May reload the configuration.
    pub config: bool,
    /// May manage users, tokens and sessions.
    pub admin: bool,
    /// May change the members of the cluster.
    pub cluster: bool,
    /// Areas that it may read.
    pub reads: ReadableAreas,
}

/// Areas that a viewer may read. The navigation leads only to their pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadableAreas {
    /// Hosts, files, tasks, plans, and the history.
    pub storage: bool,
    /// Share links.
    pub shares: bool,
    /// Pools, boxes and leases.
    pub boxes: bool,
    /// The configuration.
    pub config: bool,
    /// Users, tokens and sessions.
    pub access: bool,
    /// The record of changes and refused calls.
    pub audit: bool,
}

impl ViewerRights {
    /// Whether forms of the console at this address are accepted.
    pub fn may_post(&self, address: &str) -> bool {
        let mut parts = address.split(['/', '?']).skip(2);
        match (parts.next().unwrap_or_default(), parts.next()) {
            ("shares" | "share-actions", _) => self.shares,
            ("pools" | "boxes" | "leases", _) => self.boxes,
            ("settings", _) => self.config,
            ("access", _) | ("cluster", Some("invite")) => self.admin,
            ("cluster", _) => self.cluster,
            ("audit" | "history", _) => true,
            _ => self.storage,
        }
    }
}

impl ReadableAreas {
    /// Every area.
    pub const ALL: ReadableAreas = ReadableAreas {
        storage: true,
        shares: true,
        boxes: true,
        config: true,
        access: true,
        audit: true,
    };
}

/// The person, the request and the choices that a page is rendered for.
#[derive(Clone, Debug)]
pub struct Viewer {
    /// Name of the user, empty without logins.
    pub user: String,
    /// Role in the words of the API: `viewer`, `operator` or `admin`.
    pub role: ViewerRole,
    /// Rights that decide which actions are shown.
    pub rights: ViewerRights,
    /// Language of all texts.
    pub language: Language,
    /// Colours.
    pub theme: Theme,
    /// Height of rows.
    pub density: Density,
    /// Zone of all instants.
    pub zone: TimeZone,
    /// Instant of the rendering. All ages count from it.
    pub now: Moment,
    /// Token against forged forms; every form sends it as `csrf_token`.
    pub csrf: String,
    /// Nonce of this answer, as its Content-Security-Policy has it.
    pub nonce: String,
    /// Scheme and authority by which the browser calls the node, for lines of `curl`.
    pub origin: String,
    /// Path and query of the page. Empty for the answer to a form, and for a part of a stream.
    pub here: String,
}

impl Viewer {
    /// A reader without a user and without rights, such as a terminal.
    pub fn without_session(language: Language, zone: TimeZone, now: Moment) -> Viewer {
        Viewer {
            user: String::new(),
            role: ViewerRole::default(),
            rights: ViewerRights::default(),
            language,
            theme: Theme::default(),
            density: Density::default(),
            zone,
            now,
            csrf: String::new(),
            nonce: String::new(),
            origin: String::new(),
            here: String::new(),
        }
    }
}

/// The role of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ViewerRole {
    /// Reads only.
    #[default]
    Viewer,
    /// Reads and acts.
    Operator,
    /// Reads, acts and manages access.
    Admin,
}
