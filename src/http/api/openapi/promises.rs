//! The parameters of every read and of every change, and the headers of every answer: declared once, and referred to.

use serde_json::{Map, Value, json};
use utoipa::IntoParams;
use utoipa::openapi::path::ParameterIn;

use crate::http::api::read_promise::ReadPromise;

/// Declares them, and refers to them in every call.
pub(super) fn declare(document: &mut Value) {
    let mut parameters = Map::new();
    for parameter in ReadPromise::into_params(|| Some(ParameterIn::Query)) {
        let name = parameter.name.clone();
        parameters.insert(name, serde_json::to_value(parameter).unwrap_or_default());
    }
    let of_reads: Vec<Value> = references("parameters", parameters.keys());
    let key = Map::from_iter([("Idempotency-Key".to_owned(), request_id())]);
    let of_changes = references("parameters", key.keys());
    parameters.extend(key);
    let headers = headers();
    let names: Vec<&String> = headers.keys().collect();
    let of_answers: Map<String, Value> = names
        .iter()
        .map(|name| (*name).clone())
        .zip(references("headers", names.iter().copied()))
        .collect();
    if let Value::Object(paths) = &mut document["paths"] {
        for (method, operation) in paths.values_mut().filter_map(Value::as_object_mut).flatten() {
            let of_all = if method == "get" { &of_reads } else { &of_changes };
            let mut all = operation["parameters"].as_array().cloned().unwrap_or_default();
            all.extend(of_all.iter().cloned());
            operation["parameters"] = all.into();
            let answers = operation["responses"].as_object_mut().into_iter().flatten();
            for (_, answer) in answers {
                answer["headers"] = of_answers.clone().into();
            }
        }
    }
    document["components"]["parameters"] = parameters.into();
    document["components"]["headers"] = headers.into();
}

/// The header of a change that a client may repeat.
fn request_id() -> Value {
    let about = "The id of this change: 1 to 200 bytes in ASCII. A repetition under the same id gets the first answer \
                 for 15 minutes, and changes nothing. The same id with another change is another change. A \
                 `request_id` in the body is used instead";
    json!({
        "name": "Idempotency-Key",
        "in": "header",
        "description": about,
        "required": false,
        "schema": { "type": "string", "minLength": 1, "maxLength": 200 },
    })
}

fn references<'a>(part: &str, names: impl Iterator<Item = &'a String>) -> Vec<Value> {
    names.map(|name| json!({ "$ref": format!("#/components/{part}/{name}") })).collect()
}

fn headers() -> Map<String, Value> {
    let applied = "Index of the last entry of the journal that the answer shows. The answer to a change names its entry, \
                   or a later one";
    let staleness = "How old the answer can be, as in \"120ms\": the time since the leader was last in contact. \"unknown\" \
                     if the node has never heard a leader";
    let number = json!({ "type": "integer", "format": "int64", "minimum": 0 });
    let text = json!({ "type": "string" });
    let header = |(name, about, schema): (&str, &str, Value)| {
        (name.to_owned(), json!({ "description": about, "schema": schema }))
    };
    let members = "The URLs of all members of the cluster, with commas between them: a client can call another one when its \
                   node does not answer. Missing while the node is alone, and for an unknown caller";
    let headers = [
        ("Reelyard-Applied", applied, number),
        ("Reelyard-Members", members, text.clone()),
        ("Reelyard-Staleness", staleness, text),
    ];
    headers.into_iter().map(header).collect()
}

#[cfg(test)]
mod tests {
    use reelyard_protocol::node_address::MEMBERS_HEADER;

    use super::*;
    use crate::http::api::read_promise::promised_answer::{APPLIED, STALENESS};

    #[test]
    fn the_declared_headers_are_those_of_answers() {
        let declared: Vec<String> = headers().keys().map(|name| name.to_lowercase()).collect();
        assert_eq!(declared, [APPLIED.as_str(), MEMBERS_HEADER, STALENESS.as_str()]);
    }

    #[test]
    fn each_read_refers_to_the_parameters_and_each_answer_to_the_headers() {
        let mut document = json!({
            "paths": { "/a": {
                "get": { "parameters": [{ "name": "limit" }], "responses": { "200": {} } },
                "post": { "responses": { "201": {}, "503": {} } },
            } },
            "components": {},
        });
        declare(&mut document);
        let read = &document["paths"]["/a"]["get"];
        let parameters = read["parameters"].as_array().into_iter().flatten();
        let mut names: Vec<&str> = parameters.filter_map(|one| one["$ref"].as_str()).collect();
        names.sort_unstable();
        let expected = ["consistency", "max_staleness", "min_applied"];
        assert_eq!(names, expected.map(|name| format!("#/components/parameters/{name}")));
        let change = &document["paths"]["/a"]["post"];
        let key = "#/components/parameters/Idempotency-Key";
        assert_eq!(change["parameters"], json!([{ "$ref": key }]));
        for answer in [&read["responses"]["200"], &change["responses"]["503"]] {
            let reference = "#/components/headers/Reelyard-Applied";
            assert_eq!(answer["headers"]["Reelyard-Applied"]["$ref"], reference);
        }
        for (part, count) in [("parameters", 4), ("headers", 3)] {
            assert_eq!(document["components"][part].as_object().map(Map::len), Some(count));
        }
    }
}
