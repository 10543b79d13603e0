//! Arguments and paths with placeholders for a box, its lease or its holder. Pure.

use std::fmt;

use reelyard_protocol::boxes::{BoxNumber, FenceToken, Holder, PoolName, RunHook};

/// A value of the call that replaces a name in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateBlank {
    /// `{box}`: the id of a box as its holder sees it.
    Box,
    /// `{number}`: its own number in its pool.
    Number,
    /// `{pool}`: the name of the pool.
    Pool,
    /// `{token}`: the fencing token of its current or last lease.
    Token,
    /// `{holder}`: the current or last holder. A holder chooses its own name.
    Holder,
}

impl TemplateBlank {
    /// The placeholders that an argument may have.
    pub const IN_ARGUMENTS: &'static [TemplateBlank] = &[
        TemplateBlank::Box,
        TemplateBlank::Number,
        TemplateBlank::Pool,
        TemplateBlank::Token,
        TemplateBlank::Holder,
    ];

    /// The placeholders that a path may have: those that are also known for an id without a
    /// holder.
    pub const IN_PATHS: &'static [TemplateBlank] = &[TemplateBlank::Box, TemplateBlank::Pool];

    fn name(self) -> &'static str {
        match self {
            TemplateBlank::Box => "box",
            TemplateBlank::Number => "number",
            TemplateBlank::Pool => "pool",
            TemplateBlank::Token => "token",
            TemplateBlank::Holder => "holder",
        }
    }
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTemplate {
    /// It has an unknown placeholder.
    #[error("{{{name}}} is not a placeholder: the placeholders are {known}")]
    Unknown {
        /// The unknown blank.
        name: String,
        /// The blanks that exist.
        known: String,
    },
    /// A brace without its partner.
    #[error("a brace is not closed: write \"{{{{\" or \"}}}}\" for a literal brace")]
    Brace,
    /// The text contains a NUL byte.
    #[error("an argument or a path contains a NUL byte")]
    Nul,
}

/// The values for the blanks of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateValues {
    /// The name of the pool.
    pub pool: PoolName,
    /// The number of the box in its pool.
    pub number: BoxNumber,
    /// The id of the box for its holder.
    pub box_id: u32,
    /// The token of its lease, or of its last one.
    pub token: Option<FenceToken>,
    /// The current or last holder.
    pub holder: Option<Holder>,
}

impl TemplateValues {
    /// The values for a hook of a box.
    pub fn of(hook: &RunHook) -> Self {
        TemplateValues {
            pool: hook.place.pool.clone(),
            number: hook.number,
            box_id: hook.box_id,
            token: hook.token,
            holder: hook.holder.clone(),
        }
    }

    /// The values for a box without a holder.
    pub fn idle(pool: PoolName, number: BoxNumber) -> Self {
        TemplateValues { pool, number, box_id: number.0, token: None, holder: None }
    }

    fn text(&self, blank: TemplateBlank) -> String {
        let or_nothing = |text: Option<String>| text.unwrap_or_default();
        match blank {
            TemplateBlank::Box => self.box_id.to_string(),
            TemplateBlank::Number => self.number.to_string(),
            TemplateBlank::Pool => self.pool.to_string(),
            TemplateBlank::Token => or_nothing(self.token.map(|token| token.to_string())),
            TemplateBlank::Holder => or_nothing(self.holder.as_ref().map(ToString::to_string)),
        }
    }
}

/// A text with blanks in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<TemplatePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Blank(TemplateBlank),
}

impl Template {
    /// Reads a text that may contain these placeholders.
    ///
    /// # Errors
    /// An unknown placeholder, or a brace without a partner.
    pub fn parse(text: &str, known: &[TemplateBlank]) -> Result<Self, BadTemplate> {
        if text.contains('\0') {
            return Err(BadTemplate::Nul);
        }
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(place) = rest.find(['{', '}']) {
            plain.push_str(&rest[..place]);
            rest = &rest[place..];
            if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
                plain.push_str(&rest[..1]);
                rest = after;
                continue;
            }
            let inner = rest.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let (name, after) = inner.ok_or(BadTemplate::Brace)?;
            let blank = known.iter().find(|blank| blank.name() == name);
            let blank = *blank.ok_or_else(|| unknown(name, known))?;
            pieces.push(TemplatePart::Text(std::mem::take(&mut plain)));
            pieces.push(TemplatePart::Blank(blank));
            rest = after;
        }
        plain.push_str(rest);
        pieces.push(TemplatePart::Text(plain));
        pieces.retain(|piece| *piece != TemplatePart::Text(String::new()));
        Ok(Template(pieces))
    }

    /// The text with all blanks filled.
    pub fn fill(&self, subject: &TemplateValues) -> String {
        let text = |piece: &TemplatePart| match piece {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Blank(blank) => subject.text(*blank),
        };
        self.0.iter().map(text).collect()
    }

    /// Whether it has no placeholder.
    pub fn is_plain(&self) -> bool {
        self.0.iter().all(|piece| matches!(piece, TemplatePart::Text(_)))
    }
}

fn unknown(name: &str, known: &[TemplateBlank]) -> BadTemplate {
    let known: Vec<String> = known.iter().map(|blank| format!("{{{}}}", blank.name())).collect();
    BadTemplate::Unknown { name: name.to_owned(), known: known.join(", ") }
}

impl fmt::Display for Template {
    /// The template as configured.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            TemplatePart::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}")),
            TemplatePart::Blank(blank) => write!(f, "{{{}}}", blank.name()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> TemplateValues {
        TemplateValues {
            pool: PoolName::new("isolate").unwrap(),
            number: BoxNumber(3),
            box_id: 703,
            token: Some(FenceToken(41)),
            holder: Some(Holder::new("judge-7; rm -rf / {box}").unwrap()),
        }
    }

    fn filled(text: &str) -> String {
        Template::parse(text, TemplateBlank::IN_ARGUMENTS).unwrap().fill(&subject())
    }

    #[test]
    fn placeholders_are_filled_once_at_any_position() {
        assert_eq!(filled("--box-id={box}"), "--box-id=703");
        assert_eq!(filled("{pool}/{number}.{token}"), "isolate/3.41");
        assert_eq!(filled("{holder}"), "judge-7; rm -rf / {box}");
        assert_eq!(filled("{{box}} {{{box}}}"), "{box} {703}");
        assert_eq!(filled(""), "");
        let idle = TemplateValues::idle(PoolName::new("p").unwrap(), BoxNumber(9));
        let template =
            Template::parse("{box}:{token}:{holder}", TemplateBlank::IN_ARGUMENTS).unwrap();
        assert_eq!(template.fill(&idle), "9::");
    }

    #[test]
    fn an_unknown_placeholder_is_refused_with_the_known_ones() {
        let message_of = |text: &str, known| Template::parse(text, known).unwrap_err().to_string();
        assert_eq!(
            message_of("/x/{boxid}", TemplateBlank::IN_ARGUMENTS),
            "{boxid} is not a placeholder: the placeholders are {box}, {number}, {pool}, {token}, {holder}"
        );
        let path = message_of("/x/{token}", TemplateBlank::IN_PATHS);
        assert_eq!(path, "{token} is not a placeholder: the placeholders are {box}, {pool}");
        for bad in ["{", "}", "{box", "box}", "a{{b}"] {
            assert!(
                message_of(bad, TemplateBlank::IN_ARGUMENTS).contains("is not closed"),
                "{bad}"
            );
        }
        assert_eq!(Template::parse("\0", TemplateBlank::IN_PATHS), Err(BadTemplate::Nul));
    }

    #[test]
    fn a_template_is_shown_as_it_is_written() {
        for text in ["--box-id={box}", "{{{box}}}", "plain", ""] {
            let template = Template::parse(text, TemplateBlank::IN_ARGUMENTS).unwrap();
            assert_eq!(template.to_string(), text);
            assert_eq!(template.is_plain(), !text.contains('{'));
        }
    }
}
