//! Schemas in the form that generators of clients understand. An object has all its members in one place, and
//! each alternative of a choice has a name.
//!
//! The library writes a flattened member as `allOf`, and a variant without a name. Generators fail at a
//! choice in `allOf`, invent names for variants, and give one name to two of them.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The place of the named schemas in the document.
const SCHEMAS: &str = "#/components/schemas/";

/// A schema without `allOf`.
#[derive(Clone)]
enum SchemaShape {
    /// An object, with all its members.
    Object(Map<String, Value>),
    /// One of several shapes. At least one of them is an object.
    Choice(Vec<SchemaShape>),
    /// Anything else.
    Other(Value),
}

/// Rewrites all named schemas. Adds a named schema for each alternative of a choice.
pub(super) fn make_plain(schemas: &mut Value) {
    let Value::Object(all) = schemas else { return };
    let names: Vec<String> = all.keys().cloned().collect();
    let mut shapes = SchemaShapes { given: all.clone(), plain: Map::new() };
    for name in names {
        let Some(given) = shapes.given.get(&name).cloned() else { continue };
        let shape = shapes.shape(&given);
        let mut plain = shapes.write(&name, shape);
        if let Some(description) = given.get("description") {
            plain["description"] = description.clone();
        }
        shapes.plain.insert(name, plain);
    }
    *all = shapes.plain;
}

struct SchemaShapes {
    given: Map<String, Value>,
    plain: Map<String, Value>,
}

impl SchemaShapes {
    fn shape(&self, schema: &Value) -> SchemaShape {
        let list = |key: &str| schema.get(key).and_then(Value::as_array);
        if let Some(parts) = list("allOf") {
            let nothing = SchemaShape::Object(Map::new());
            return parts.iter().fold(nothing, |joined, part| joined.with(self.resolved(part)));
        }
        let is_object = |one: &Value| one.get("properties").is_some() || one.get("allOf").is_some();
        match (list("oneOf"), schema) {
            (Some(alternatives), _) if alternatives.iter().any(is_object) => {
                SchemaShape::Choice(alternatives.iter().map(|one| self.shape(one)).collect())
            }
            (_, Value::Object(object)) if is_object(schema) => SchemaShape::Object(object.clone()),
            _ => SchemaShape::Other(schema.clone()),
        }
    }

    /// The shape of a schema, or of the one that it refers to.
    fn resolved(&self, schema: &Value) -> SchemaShape {
        let name = schema["$ref"].as_str().and_then(|name| name.strip_prefix(SCHEMAS));
        self.shape(name.and_then(|name| self.given.get(name)).unwrap_or(schema))
    }

    /// The schema of a shape. `name` is the beginning of the names of its parts.
    fn write(&mut self, name: &str, shape: SchemaShape) -> Value {
        match shape {
            SchemaShape::Other(schema) => schema,
            SchemaShape::Object(mut object) => {
                if let Some(Value::Object(members)) = object.get_mut("properties") {
                    for (member, schema) in members {
                        self.name_member(&format!("{name}{}", in_camel_case(member)), schema);
                    }
                }
                Value::Object(object)
            }
            SchemaShape::Choice(alternatives) => self.write_choice(name, alternatives),
        }
    }

    /// Gives a name to an object without one, as the type of a member or of its items.
    fn name_member(&mut self, name: &str, schema: &mut Value) {
        if schema.get("properties").is_some() {
            *schema = self.named(name.to_owned(), self.shape(schema));
        } else if let Some(items) = schema.get_mut("items") {
            self.name_member(name, items);
        }
    }

    fn write_choice(&mut self, name: &str, alternatives: Vec<SchemaShape>) -> Value {
        let tag = tag_of(&alternatives);
        let (mut choice, mut words, mut mapping) = (Vec::new(), Vec::new(), Map::new());
        for alternative in alternatives {
            let word = match (&alternative, &tag) {
                (SchemaShape::Other(schema), _) if schema.get("enum").is_some() => {
                    words.push(schema.clone());
                    continue;
                }
                (SchemaShape::Other(schema), _) => {
                    choice.push(schema.clone());
                    continue;
                }
                (_, Some(tag)) => alternative.word(tag),
                (_, None) => alternative.first_member(),
            };
            let word = word.unwrap_or_default();
            let reference = self.named(format!("{name}{}", in_camel_case(&word)), alternative);
            mapping.insert(word, reference["$ref"].clone());
            choice.push(reference);
        }
        choice.extend(in_one(&words));
        match tag {
            Some(tag) if mapping.len() == choice.len() => {
                let discriminator = json!({ "propertyName": tag, "mapping": mapping });
                json!({ "oneOf": choice, "discriminator": discriminator })
            }
            _ => json!({ "oneOf": choice }),
        }
    }

    /// Writes a shape as a named schema. Returns the reference to it.
    fn named(&mut self, mut name: String, shape: SchemaShape) -> Value {
        while self.given.contains_key(&name) || self.plain.contains_key(&name) {
            name.push_str("Details");
        }
        // The name is taken before its parts get theirs.
        self.plain.insert(name.clone(), Value::Null);
        let schema = self.write(&name, shape);
        let reference = json!({ "$ref": format!("{SCHEMAS}{name}") });
        self.plain.insert(name, schema);
        reference
    }
}

impl SchemaShape {
    /// A shape with the members of both.
    fn with(self, other: SchemaShape) -> SchemaShape {
        match (self, other) {
            (SchemaShape::Choice(ours), other) => {
                SchemaShape::Choice(ours.into_iter().map(|one| one.with(other.clone())).collect())
            }
            (ours, SchemaShape::Choice(theirs)) => {
                SchemaShape::Choice(theirs.into_iter().map(|one| ours.clone().with(one)).collect())
            }
            (SchemaShape::Object(ours), SchemaShape::Object(theirs)) => {
                SchemaShape::Object(joined(ours, theirs))
            }
            // Only objects are joined.
            (ours, SchemaShape::Other(_)) => ours,
            (SchemaShape::Other(_), theirs) => theirs,
        }
    }

    /// The only word that the member `tag` of this shape can have.
    fn word(&self, tag: &str) -> Option<String> {
        match self {
            SchemaShape::Object(object) => match &object.get("properties")?[tag]["enum"] {
                Value::Array(words) if words.len() == 1 => words[0].as_str().map(str::to_owned),
                _ => None,
            },
            SchemaShape::Choice(alternatives) => {
                let mut words = alternatives.iter().map(|one| one.word(tag));
                let first = words.next()??;
                words.all(|word| word.as_ref() == Some(&first)).then_some(first)
            }
            SchemaShape::Other(_) => None,
        }
    }

    fn members(&self) -> Vec<String> {
        match self {
            SchemaShape::Object(object) => {
                let members = object.get("properties").and_then(Value::as_object);
                members.into_iter().flat_map(Map::keys).cloned().collect()
            }
            SchemaShape::Choice(alternatives) => {
                alternatives.first().map(SchemaShape::members).unwrap_or_default()
            }
            SchemaShape::Other(_) => Vec::new(),
        }
    }

    fn first_member(&self) -> Option<String> {
        self.members().into_iter().next()
    }
}

/// The member whose word distinguishes all alternatives that are objects.
fn tag_of(alternatives: &[SchemaShape]) -> Option<String> {
    let objects: Vec<&SchemaShape> =
        alternatives.iter().filter(|one| !matches!(one, SchemaShape::Other(_))).collect();
    objects.first()?.members().into_iter().find(|member| {
        let words: Option<BTreeSet<String>> = objects.iter().map(|one| one.word(member)).collect();
        words.is_some_and(|words| words.len() == objects.len())
    })
}

/// An object with the members of both, and with the first description.
fn joined(mut ours: Map<String, Value>, theirs: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in theirs {
        match (ours.get_mut(&key), value) {
            (Some(Value::Object(members)), Value::Object(more)) => members.extend(more),
            (Some(Value::Array(names)), Value::Array(more)) => names.extend(more),
            (Some(_), _) => {}
            (None, value) => {
                ours.insert(key, value);
            }
        }
    }
    ours
}

/// Words as one enumeration, because a generator cannot distinguish several ones.
fn in_one(words: &[Value]) -> Option<Value> {
    if let [] | [_] = words {
        return words.first().cloned();
    }
    let all: Vec<&Value> =
        words.iter().filter_map(|one| one["enum"].as_array()).flatten().collect();
    let meanings: Vec<String> = words
        .iter()
        .filter_map(|one| {
            Some(format!("- `{}`: {}", one["enum"][0].as_str()?, one["description"].as_str()?))
        })
        .collect();
    Some(json!({ "type": "string", "enum": all, "description": meanings.join("\n") }))
}

fn in_camel_case(word: &str) -> String {
    let parts = word.split(['_', '-']);
    let capitalized = parts.map(|part| {
        let (first, rest) = part.split_at(part.len().min(1));
        format!("{}{rest}", first.to_uppercase())
    });
    capitalized.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(members: &Value, required: &[&str]) -> Value {
        json!({ "type": "object", "properties": members, "required": required })
    }

    #[test]
    fn a_flattened_choice_becomes_a_choice_of_named_objects() {
        let tag = |word: &str| json!({ "type": "string", "enum": [word] });
        let mut schemas = json!({
            "Name": object(&json!({ "name": { "type": "string" } }), &["name"]),
            "Ended": { "oneOf": [
                object(&json!({ "what": tag("copy"), "task": { "type": "string" } }), &["what"]),
                object(&json!({ "what": tag("old_copy") }), &["what"]),
            ] },
            "Line": {
                "description": "A line.",
                "allOf": [
                    { "$ref": "#/components/schemas/Name" },
                    { "$ref": "#/components/schemas/Ended" },
                    object(&json!({ "at": { "type": "integer" } }), &["at"]),
                ],
            },
        });
        make_plain(&mut schemas);
        let mapping = json!({
            "copy": "#/components/schemas/LineCopy",
            "old_copy": "#/components/schemas/LineOldCopy",
        });
        assert_eq!(
            schemas["Line"],
            json!({
                "description": "A line.",
                "oneOf": [
                    { "$ref": "#/components/schemas/LineCopy" },
                    { "$ref": "#/components/schemas/LineOldCopy" },
                ],
                "discriminator": { "propertyName": "what", "mapping": mapping },
            })
        );
        let copy = &schemas["LineCopy"];
        let members: Vec<&String> = copy["properties"].as_object().unwrap().keys().collect();
        assert_eq!(members.len(), 4, "{members:?}");
        assert_eq!(copy["required"], json!(["name", "what", "at"]));
        assert!(schemas["EndedCopy"].is_object() && schemas["EndedOldCopy"].is_object());
    }

    #[test]
    fn words_and_objects_become_one_enumeration_and_named_objects() {
        let word = |word: &str, meaning: &str| json!({ "type": "string", "enum": [word], "description": meaning });
        let inner = object(&json!({ "why": { "type": "string" } }), &["why"]);
        let mut schemas = json!({
            "Ending": { "oneOf": [
                word("removed", "It went."),
                object(&json!({ "refused": inner }), &["refused"]),
                word("absent", "It was not there."),
            ] },
        });
        make_plain(&mut schemas);
        let words = json!({
            "type": "string",
            "enum": ["removed", "absent"],
            "description": "- `removed`: It went.\n- `absent`: It was not there.",
        });
        let reference = json!({ "$ref": "#/components/schemas/EndingRefused" });
        assert_eq!(schemas["Ending"]["oneOf"], json!([reference, words]));
        let member = &schemas["EndingRefused"]["properties"]["refused"];
        assert_eq!(member["$ref"], "#/components/schemas/EndingRefusedRefused");
        assert_eq!(schemas["EndingRefusedRefused"], inner);
    }
}
