//! Reads a YAML file like viper: leaves with dotted keys in lower case.

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use saphyr_parser::{Event, Parser};

/// Largest nesting of lists and mappings.
const DEEPEST: usize = 64;

/// The text is not a configuration in YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {what}")]
pub struct NotYaml {
    /// Line number, from 1.
    pub line: usize,
    /// The problem, for the operator.
    pub what: String,
}

/// A leaf of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlEntry {
    /// Dotted key in lower case.
    pub key: String,
    /// Line number, from 1.
    pub line: usize,
    /// The values with their lines: one for a scalar, several for a list, none for null.
    pub values: Vec<(String, usize)>,
}

impl YamlEntry {
    /// The first value; empty without one.
    pub fn text(&self) -> &str {
        self.values.first().map_or("", |(text, _)| text)
    }
}

/// Every leaf of the first document, in the order of the file.
pub fn entries(text: &str) -> Result<Vec<YamlEntry>, NotYaml> {
    refuse_depth(text)?;
    let documents = MarkedYaml::load_from_str(text).map_err(|error| NotYaml {
        line: error.marker().line(),
        what: format!("is not YAML: {}", error.info()),
    })?;
    let mut entries = Vec::new();
    if let Some(document) = documents.first() {
        match &document.data {
            YamlData::Mapping(_) => walk("", document, &mut entries),
            data if scalar(data).is_some_and(|text| text.is_empty()) => {}
            _ => {
                let what = "expected keys and values such as \"listen_addr: 127.0.0.1:8080\"";
                return Err(NotYaml { line: line(document), what: what.to_owned() });
            }
        }
    }
    Ok(entries)
}

/// Refuses deep nesting, because nodes are processed and dropped recursively. Text that cannot be
/// parsed is left to the loader, which reports the fault.
fn refuse_depth(text: &str) -> Result<(), NotYaml> {
    let mut depth = 0_usize;
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { return Ok(()) };
        match event {
            Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
            Event::SequenceEnd | Event::MappingEnd => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            let what = format!(
                "it is nested more than {DEEPEST} levels deep: this is not a configuration of cfm or cfw"
            );
            return Err(NotYaml { line: span.start.line(), what });
        }
    }
    Ok(())
}

fn walk(prefix: &str, node: &MarkedYaml<'_>, entries: &mut Vec<YamlEntry>) {
    let YamlData::Mapping(mapping) = &node.data else { return };
    for (name, value) in mapping {
        let name_text = scalar(&name.data).unwrap_or_default().to_lowercase();
        let key = reelyard_core::settings::join(prefix, &name_text);
        if matches!(value.data, YamlData::Mapping(_)) {
            walk(&key, value, entries);
            continue;
        }
        entries.push(YamlEntry { key, line: line(name), values: values(value) });
    }
}

fn values(node: &MarkedYaml<'_>) -> Vec<(String, usize)> {
    let value = |node: &MarkedYaml<'_>| (scalar(&node.data).unwrap_or_default(), line(node));
    match &node.data {
        YamlData::Sequence(nodes) => nodes.iter().map(value).collect(),
        YamlData::Value(Scalar::Null) => Vec::new(),
        _ => vec![value(node)],
    }
}

/// A scalar as text: viper converts a scalar to any requested type.
fn scalar<'t>(data: &YamlData<'t, MarkedYaml<'t>>) -> Option<String> {
    match data {
        YamlData::Value(Scalar::Null) => Some(String::new()),
        YamlData::Value(Scalar::Boolean(value)) => Some(value.to_string()),
        YamlData::Value(Scalar::Integer(value)) => Some(value.to_string()),
        YamlData::Value(Scalar::FloatingPoint(value)) => Some(value.to_string()),
        YamlData::Value(Scalar::String(text)) => Some(text.to_string()),
        YamlData::Representation(text, ..) => Some(text.to_string()),
        YamlData::Tagged(_, node) => scalar(&node.data),
        _ => None,
    }
}

fn line(node: &MarkedYaml<'_>) -> usize {
    node.span.start.line()
}
