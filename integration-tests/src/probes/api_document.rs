//! Reads the API's OpenAPI document and checks answers against it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

/// The content type of a problem.
const PROBLEM: &str = "application/problem+json";

/// The OpenAPI document in strict form: an answer with a member that the document does not list is wrong.
pub struct ApiDocument {
    document: Value,
    schemas: Value,
}

/// One path and method of the document, with the documented answers.
#[derive(Clone, Debug)]
pub struct DocumentedCall {
    /// Its path, with `{parameters}`.
    pub path: String,
    /// Its method, in capitals.
    pub method: String,
    /// The status codes that the document allows for an answer.
    pub statuses: BTreeSet<u16>,
}

impl ApiDocument {
    /// Reads a document.
    pub fn read(text: &str) -> Result<Self> {
        let document: Value = serde_json::from_str(text)?;
        ensure!(document["openapi"] == "3.1.0", "no OpenAPI document: {}", document["openapi"]);
        let mut schemas = document["components"]["schemas"].clone();
        let mut joined = BTreeSet::new();
        find_joined(&document, &mut joined);
        let schemas_by_name = schemas.as_object_mut().context("no schemas")?;
        for (name, schema) in schemas_by_name {
            close(schema, !joined.contains(name));
        }
        Ok(ApiDocument { document, schemas })
    }

    /// Every call of the document, for checks that tests cover each of them.
    pub fn calls(&self) -> Result<Vec<DocumentedCall>> {
        let mut calls = Vec::new();
        for (path, item) in object(&self.document["paths"])? {
            for (method, operation) in object(item)? {
                let statuses = object(&operation["responses"])?.keys().map(|status| status.parse());
                calls.push(DocumentedCall {
                    path: path.clone(),
                    method: method.to_uppercase(),
                    statuses: statuses.collect::<Result<_, _>>()?,
                });
            }
        }
        Ok(calls)
    }

    /// Checks `body` against the schema for this call and status. `None` stands for an answer without a body.
    pub fn check(
        &self,
        path: &str,
        method: &str,
        status: u16,
        kind: &str,
        body: Option<&Value>,
    ) -> Result<()> {
        let operation = &self.document["paths"][path][method.to_lowercase()];
        let answer = &operation["responses"][status.to_string()];
        ensure!(answer.is_object(), "{method} {path} has no declared answer {status}");
        let content = answer["content"].as_object();
        match (content, body) {
            (None, None) => Ok(()),
            (Some(content), Some(body)) => {
                let kind = kind.split(';').next().unwrap_or_default();
                let content = content.get(kind).with_context(|| {
                    format!("{method} {path} declares no content of type {kind}")
                })?;
                if kind == PROBLEM {
                    let word = body["type"].as_str().and_then(|kind| kind.rsplit(':').next());
                    let is_listed = word.is_some_and(|word| content["examples"][word].is_object());
                    ensure!(is_listed, "{method} {path} does not list the problem {body}");
                }
                self.check_schema(&content["schema"], body)
                    .with_context(|| format!("{method} {path}: {body}"))
            }
            _ => anyhow::bail!(
                "{method} {path} {status}: the body differs from the document: one of them has none"
            ),
        }
    }

    /// Checks `value` against the schema of that name.
    pub fn check_named(&self, name: &str, value: &Value) -> Result<()> {
        let reference = json!({ "$ref": format!("#/components/schemas/{name}") });
        self.check_schema(&reference, value).with_context(|| format!("{name}: {value}"))
    }

    /// Checks every example against its schema. Returns the number of examples.
    pub fn check_examples(&self) -> Result<usize> {
        let mut checked = 0;
        let mut contents = Vec::new();
        find_contents(&self.document["paths"], &mut contents);
        for content in contents {
            let named = content["examples"].as_object().into_iter().flat_map(Map::values);
            let examples = named.map(|example| &example["value"]).chain(content.get("example"));
            for example in examples {
                self.check_schema(&content["schema"], example)
                    .with_context(|| format!("the example {example}"))?;
                checked += 1;
            }
        }
        for (name, schema) in object(&self.document["components"]["schemas"])? {
            if let Some(example) = schema.get("example") {
                self.check_named(name, example)?;
                checked += 1;
            }
        }
        Ok(checked)
    }

    fn check_schema(&self, schema: &Value, value: &Value) -> Result<()> {
        let mut root = schema.clone();
        root["components"] = json!({ "schemas": self.schemas_of(schema) });
        let validator = jsonschema::draft202012::new(&root).context("the schema is wrong")?;
        let faults: Vec<String> = validator
            .iter_errors(value)
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        ensure!(faults.is_empty(), "{}", faults.join("\n"));
        Ok(())
    }

    /// The schemas that `schema` needs. A validator of the whole document takes many times as long to make.
    fn schemas_of(&self, schema: &Value) -> Map<String, Value> {
        let mut wanted = BTreeSet::new();
        find_references(schema, &mut wanted);
        let mut needed = Map::new();
        while let Some(name) = wanted.pop_first() {
            // A name without a schema stays missing, and the validator reports the reference.
            let Some(schema) = self.schemas.get(&name).filter(|_| !needed.contains_key(&name))
            else {
                continue;
            };
            find_references(schema, &mut wanted);
            needed.insert(name, schema.clone());
        }
        needed
    }
}

/// Collects the names of the schemas that `value` refers to.
fn find_references(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            let reference = object.get("$ref").and_then(Value::as_str);
            names.extend(reference.and_then(|path| path.rsplit('/').next()).map(str::to_owned));
            object.values().for_each(|value| find_references(value, names));
        }
        Value::Array(items) => items.iter().for_each(|item| find_references(item, names)),
        _ => {}
    }
}

fn object(value: &Value) -> Result<&Map<String, Value>> {
    value.as_object().with_context(|| format!("no object: {value}"))
}

/// Collects the names of schemas that `allOf` of other schemas refers to.
fn find_joined(value: &Value, joined: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            let parts = object.get("allOf").and_then(Value::as_array).into_iter().flatten();
            let names = parts.filter_map(|part| part["$ref"].as_str()?.rsplit('/').next());
            joined.extend(names.map(str::to_owned));
            object.values().for_each(|value| find_joined(value, joined));
        }
        Value::Array(items) => items.iter().for_each(|item| find_joined(item, joined)),
        _ => {}
    }
}

fn find_contents<'a>(value: &'a Value, contents: &mut Vec<&'a Value>) {
    match value {
        Value::Object(object) => {
            let found = object.get("content").and_then(Value::as_object);
            contents.extend(found.into_iter().flat_map(Map::values));
            object.values().for_each(|value| find_contents(value, contents));
        }
        Value::Array(items) => items.iter().for_each(|item| find_contents(item, contents)),
        _ => {}
    }
}

/// Makes a schema refuse members that it does not list. A schema that others extend by `allOf` stays open;
/// the extending schema is closed.
fn close(schema: &mut Value, to_close: bool) {
    let Value::Object(object) = schema else { return };
    if let Some(parts) = object.get_mut("allOf").and_then(Value::as_array_mut) {
        parts.iter_mut().for_each(|part| close(part, false));
        if to_close {
            object.insert("unevaluatedProperties".to_owned(), json!(false));
        }
        return;
    }
    if to_close && object.contains_key("properties") {
        object.insert("additionalProperties".to_owned(), json!(false));
    }
    for (key, value) in object.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|one| close(one, true));
            }
            ("items", item) => close(item, true),
            ("oneOf", Value::Array(variants)) => {
                variants.iter_mut().for_each(|one| close(one, to_close));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> ApiDocument {
        let schemas = json!({
            "Name": { "type": "object", "properties": { "name": { "type": "string" } } },
            "File": {
                "allOf": [
                    { "$ref": "#/components/schemas/Name" },
                    {
                        "type": "object",
                        "properties": { "disk": { "$ref": "#/components/schemas/Disk" } },
                    },
                ]
            },
            "Disk": { "type": "object", "properties": { "used": { "type": "integer" } } },
        });
        let content = json!({
            "application/json": {
                "schema": { "type": "array", "items": { "$ref": "#/components/schemas/File" } },
                "example": [{ "name": 1 }],
            }
        });
        let problems =
            json!({ PROBLEM: { "schema": {}, "examples": { "gone": { "value": {} } } } });
        let responses = json!({
            "200": { "description": "Files", "content": content },
            "410": { "description": "It has ended", "content": problems },
        });
        let document = json!({
            "openapi": "3.1.0",
            "paths": { "/files": { "get": { "responses": responses } } },
            "components": { "schemas": schemas },
        });
        ApiDocument::read(&document.to_string()).unwrap()
    }

    #[test]
    fn undocumented_members_are_refused() {
        let document = document();
        let check = |body| {
            document.check("/files", "GET", 200, "application/json; charset=utf-8", Some(&body))
        };
        check(json!([{ "name": "a", "disk": { "used": 1 } }])).unwrap();
        for wrong in [
            json!([{ "name": 1 }]),
            json!([{ "name": "a", "more": 1 }]),
            json!([{ "name": "a", "disk": { "used": 1, "more": 1 } }]),
            json!({}),
        ] {
            assert!(check(wrong.clone()).is_err(), "{wrong}");
        }
        let file = json!([]);
        assert!(document.check("/files", "GET", 404, "application/json", Some(&file)).is_err());
        assert!(document.check("/files", "GET", 200, "text/plain", Some(&file)).is_err());
        assert!(document.check("/files", "GET", 200, "application/json", None).is_err());
        assert!(document.check_examples().is_err(), "its example is wrong");
        for (word, is_listed) in [("gone", true), ("terms", false)] {
            let problem = json!({ "type": format!("urn:x:{word}") });
            let checked = document.check("/files", "GET", 410, PROBLEM, Some(&problem));
            assert_eq!(checked.is_ok(), is_listed, "{word}");
        }
    }
}
