//! `/api/v1/openapi.json`: the API for programs, made from the same table as the routes.

mod promises;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use actix_web::http::Method;
use reelyard_api::{API, Problem, ProblemKind, WantedTerms};
use serde_json::{Map, Value, json};
use utoipa::openapi::path::HttpMethod;
use utoipa::openapi::{Components, InfoBuilder, OpenApiBuilder, Paths};
use utoipa::{PartialSchema, ToSchema};

use super::api_call::ApiCall;
use super::calls;
use crate::http::access::CallRights;
use crate::http::problem::PROBLEM_JSON;

const ABOUT: &str = "\
Times are integers in Unix milliseconds. Where the schema has `date-time`, as with shares and leases, \
they are RFC 3339 strings. Durations are whole milliseconds or microseconds; the name says which. Sizes \
are bytes. A missing value is left out of the object and is never null. In a request, null removes the \
value. Later releases of this version can add members, but they remove none. HEAD works wherever GET \
does, unless the call can wait for long. Lists come in pages: `next` of one page is the `cursor` of \
the next. Unknown parameters are refused. Each answer of the API has the headers `Reelyard-Applied` and \
`Reelyard-Staleness`, in a cluster also `Reelyard-Members`, and each GET takes `consistency`, `min_applied` and `max_staleness`. Every failure is answered with a problem document (RFC 9457); \
its `type` never changes.";

/// The groups of calls, in the order of the document.
const TAGS: [(&str, &str); 14] = [
    ("tasks", "Copies: planned, running and ended"),
    ("hosts", "Hosts of the yard"),
    ("files", "Files, their copies and pins"),
    ("plan", "The last planning round"),
    ("removals", "Removals of copies"),
    ("history", "Ended copies and removals"),
    ("shares", "Links with deadlines, and the files behind them"),
    ("boxes", "Pools, boxes and leases"),
    ("access", "Users, tokens and their rights"),
    ("audit", "Changes and refused calls, with their callers"),
    ("cluster", "The nodes of the cluster"),
    ("events", "Changes as they happen"),
    ("node", "State and configuration of the node"),
    ("workers", "Calls of workers, which sign them"),
];

/// The name of the security scheme in the document.
const TOKEN: &str = "token";

/// The document as JSON text, without blanks: with them it has twice the size.
pub static TEXT: LazyLock<String> = LazyLock::new(|| format!("{}\n", document()));

/// The document as JSON text, for the API and the command `reelyard openapi`.
pub fn text() -> &'static str {
    &TEXT
}

/// Builds the document from the table of calls.
fn document() -> Value {
    let mut schemas = vec![(Problem::name().into_owned(), Problem::schema())];
    let (mut paths, mut refusals) = (Paths::new(), BTreeMap::new());
    for call in calls::all() {
        let path = format!("{API}{}", call.path);
        (call.schemas)(&mut schemas);
        let mut operation = call.operation.clone();
        operation.description = Some(with_rights(operation.description, &call.rights));
        refusals.insert((path.clone(), word(&call.method)), call.refusals.clone());
        paths.add_path_operation(&path, vec![method(&call)], operation);
    }
    let mut components = Components::new();
    components.schemas.extend(schemas);
    let info = InfoBuilder::new()
        .title("Reelyard")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(ABOUT));
    let document = OpenApiBuilder::new().info(info).paths(paths).components(Some(components));
    let mut document = serde_json::to_value(document.build()).unwrap_or_default();
    for ((path, method), kinds) in refusals {
        add_refusals(&mut document["paths"][&path][method]["responses"], &kinds);
    }
    promises::declare(&mut document);
    document["components"]["securitySchemes"] = json!({
        TOKEN: {
            "type": "http",
            "scheme": "bearer",
            "description": "A token. `reelyard token create` makes one",
        }
    });
    let tags = TAGS.iter().map(|(name, about)| json!({ "name": name, "description": about }));
    document["tags"] = tags.collect();
    document["security"] = json!([{ TOKEN: [] }]);
    null_only_where_it_means_something(&mut document);
    name_items(&mut document["components"]["schemas"]);
    shapes::make_plain(&mut document["components"]["schemas"]);
    document
}

/// The description of a call, with the rights that it needs.
fn with_rights(description: Option<String>, rights: &CallRights) -> String {
    let needs = format!("Needs {}.", rights.in_words());
    description.map_or(needs.clone(), |text| format!("{text}\n\n{needs}"))
}

/// Makes each page refer to the type of its items. The library repeats the whole type instead.
fn name_items(schemas: &mut Value) {
    let Value::Object(schemas) = schemas else { return };
    let names: BTreeSet<String> = schemas.keys().cloned().collect();
    for (name, schema) in schemas {
        if let Some(item) = name.strip_prefix("Page_").filter(|item| names.contains(*item)) {
            let reference = json!({ "$ref": format!("#/components/schemas/{item}") });
            schema["properties"]["items"]["items"] = reference;
        }
    }
}

fn method(call: &ApiCall) -> HttpMethod {
    match call.method {
        Method::POST => HttpMethod::Post,
        Method::PUT => HttpMethod::Put,
        Method::DELETE => HttpMethod::Delete,
        Method::PATCH => HttpMethod::Patch,
        _ => HttpMethod::Get,
    }
}

fn word(method: &Method) -> String {
    method.as_str().to_lowercase()
}

/// Adds the refusals of a call to its answers: one answer per status, with one example per kind.
fn add_refusals(responses: &mut Value, kinds: &BTreeSet<ProblemKind>) {
    let mut by_status: BTreeMap<u16, Vec<ProblemKind>> = BTreeMap::new();
    for kind in kinds {
        by_status.entry(kind.status()).or_default().push(*kind);
    }
    for (status, kinds) in by_status {
        let example = |kind: &ProblemKind| {
            let problem = Problem::new(*kind, kind.example().to_owned());
            (kind.word().to_owned(), json!({ "value": problem }))
        };
        let examples: Map<String, Value> = kinds.iter().map(example).collect();
        let schema = json!({ "$ref": format!("#/components/schemas/{}", Problem::name()) });
        responses[status.to_string()] = json!({
            "description": description(&kinds),
            "content": { PROBLEM_JSON: { "schema": schema, "examples": examples } },
        });
    }
}

/// The meaning of an answer with one of these problems. Several are a list in Markdown.
fn description(kinds: &[ProblemKind]) -> String {
    if let [kind] = kinds {
        return kind.advice().to_owned();
    }
    let items: Vec<String> = kinds.iter().map(|kind| format!("- {}", kind.advice())).collect();
    format!("One of these problems:\n{}", items.join("\n"))
}

/// The members for which null has a meaning: it removes the value.
const REMOVED_BY_NULL: [(&str, &[&str]); 1] = [("WantedTerms", WantedTerms::REMOVED_BY_NULL)];

/// Applies [`never_null`] except where null has a meaning.
fn null_only_where_it_means_something(document: &mut Value) {
    let schemas = |(schema, members): (&str, &'static [&'static str])| {
        let pointer = format!("/components/schemas/{schema}/properties");
        members.iter().map(move |member| format!("{pointer}/{member}"))
    };
    let spared: Vec<String> = REMOVED_BY_NULL.into_iter().flat_map(schemas).collect();
    let spared: Vec<(String, Value)> = spared
        .into_iter()
        .filter_map(|pointer| document.pointer(&pointer).cloned().map(|schema| (pointer, schema)))
        .collect();
    never_null(document);
    for (pointer, schema) in spared {
        if let Some(place) = document.pointer_mut(&pointer) {
            *place = schema;
        }
    }
}

/// Removes null from the types of optional members. The library writes every `Option` as nullable,
/// but the API leaves a missing value out and never sends null.
fn never_null(value: &mut Value) {
    match value {
        Value::Object(object) => {
            let required: BTreeSet<String> = match object.get("required") {
                Some(Value::Array(names)) => {
                    names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
                }
                _ => BTreeSet::new(),
            };
            if let Some(Value::Object(properties)) = object.get_mut("properties") {
                let optional = properties.iter_mut().filter(|(name, _)| !required.contains(*name));
                optional.for_each(|(_, schema)| remove_null(schema));
            }
            object.values_mut().for_each(never_null);
        }
        Value::Array(items) => items.iter_mut().for_each(never_null),
        _ => {}
    }
}

fn remove_null(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(variants)) = object.get_mut("oneOf") {
        variants.retain(|one| one["type"] != "null");
        if let [only] = variants.as_slice() {
            let Value::Object(only) = only.clone() else { return };
            object.remove("oneOf");
            object.extend(only);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_required_members_may_be_null() {
        let mut schema = json!({
            "properties": {
                "next": { "type": ["string", "null"] },
                "room": { "type": ["integer", "null"] },
                "disk": { "oneOf": [{ "type": "null" }, { "$ref": "#/x", "description": "A" }] },
            },
            "required": ["next"],
        });
        never_null(&mut schema);
        let properties = &schema["properties"];
        assert_eq!(properties["next"]["type"], json!(["string", "null"]));
        assert_eq!(properties["room"]["type"], "integer");
        assert_eq!(properties["disk"], json!({ "$ref": "#/x", "description": "A" }));
    }

    #[test]
    fn members_removed_by_null_may_be_null() {
        let document = document();
        for (schema, members) in REMOVED_BY_NULL {
            let properties = &document["components"]["schemas"][schema]["properties"];
            for member in members {
                let types = properties[member]["type"].as_array().unwrap();
                assert!(types.contains(&json!("null")), "{schema}.{member}: {types:?}");
            }
            assert_eq!(properties["request_id"]["type"], "string");
        }
    }

    #[test]
    fn two_types_do_not_share_the_name_of_a_schema() {
        let mut schemas = Vec::new();
        calls::all().iter().for_each(|call| (call.schemas)(&mut schemas));
        let mut by_name: BTreeMap<String, Value> = BTreeMap::new();
        let mut shared = BTreeSet::new();
        for (name, schema) in schemas {
            let schema = serde_json::to_value(schema).unwrap();
            if by_name.insert(name.clone(), schema.clone()).is_some_and(|other| other != schema) {
                shared.insert(name);
            }
        }
        assert!(shared.is_empty(), "give each type a name by #[schema(as = ...)]: {shared:?}");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn references(value: &Value, found: &mut BTreeSet<String>) {
            match value {
                Value::Object(object) => {
                    if let Some(Value::String(reference)) = object.get("$ref") {
                        found.insert(reference.clone());
                    }
                    object.values().for_each(|value| references(value, found));
                }
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                _ => {}
            }
        }
        let (document, mut found) = (document(), BTreeSet::new());
        references(&document, &mut found);
        assert!(found.len() > 20, "{found:?}");
        for reference in found {
            let pointer = reference.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
        }
    }
}
