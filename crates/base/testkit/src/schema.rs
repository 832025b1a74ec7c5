//! Documents against the JSON Schema that is published for them: of draft 2020-12 the words that our schemas have.

use serde_json::Value;

/// Where `document` is not as `schema` has it, and how; nothing where it is.
pub fn violations(schema: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, document, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    let Some(words) = schema.as_object() else {
        return;
    };
    for (word, bound) in words {
        let is_kept = match (word.as_str(), bound) {
            ("$ref", Value::String(name)) => {
                let named = root.pointer(name.trim_start_matches('#'));
                check(root, named.expect("a definition"), value, path, found);
                true
            }
            ("anyOf" | "oneOf", Value::Array(all)) => all.iter().any(|one| {
                let mut other = Vec::new();
                check(root, one, value, path, &mut other);
                other.is_empty()
            }),
            ("allOf", Value::Array(all)) => {
                all.iter()
                    .for_each(|one| check(root, one, value, path, found));
                true
            }
            ("type", Value::String(name)) => is_of(value, name),
            ("type", Value::Array(names)) => names
                .iter()
                .any(|name| name.as_str().is_some_and(|name| is_of(value, name))),
            ("enum", Value::Array(all)) => all.contains(value),
            ("const", of) => of == value,
            ("minimum", of) => value.is_null() || value.as_f64() >= of.as_f64(),
            ("maximum", of) => value.is_null() || value.as_f64() <= of.as_f64(),
            ("minItems", of) => value.as_array().map(|all| all.len() as u64) >= of.as_u64(),
            ("maxItems", of) => value.as_array().map(|all| all.len() as u64) <= of.as_u64(),
            ("required", Value::Array(keys)) => {
                let is_there =
                    |key: &Value| key.as_str().is_some_and(|key| value.get(key).is_some());
                !value.is_object() || keys.iter().all(is_there)
            }
            ("properties", Value::Object(all)) => {
                for (key, field) in all {
                    if let Some(inner) = value.get(key) {
                        check(root, field, inner, &format!("{path}/{key}"), found);
                    }
                }
                true
            }
            ("additionalProperties", of) => {
                let known = |key: &str| schema["properties"].get(key).is_some();
                let others = value.as_object().into_iter().flatten();
                for (key, inner) in others.filter(|(key, _)| !known(key)) {
                    check(root, of, inner, &format!("{path}/{key}"), found);
                }
                true
            }
            ("items", of) => {
                for (at, inner) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, of, inner, &format!("{path}/{at}"), found);
                }
                true
            }
            (
                "$schema"
                | "$defs"
                | "title"
                | "description"
                | "format"
                | "default"
                | "unevaluatedProperties",
                _,
            ) => true,
            _ => panic!("{word} is a word of JSON Schema that is not known here"),
        };
        if !is_kept {
            found.push(format!("{path}: {word} {bound} is not kept by {value}"));
        }
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "string" => value.is_string(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_way_to_be_wrong_is_found_with_its_place() {
        let schema = json!({
            "$defs": {"Way": {"type": "string", "enum": ["down", "up"]}},
            "type": "object",
            "properties": {
                "way": {"$ref": "#/$defs/Way"},
                "rates": {"type": "array", "items": {"type": ["integer", "null"], "minimum": 0}},
                "kind": {"oneOf": [{"const": "a"}, {"type": "object", "required": ["b"]}]},
                "others": {"type": "object", "additionalProperties": {"type": "number"}},
            },
            "required": ["way"],
        });
        let good = json!({"way": "up", "rates": [1, null], "kind": {"b": 1}, "others": {"x": 0.5}});
        assert_eq!(violations(&schema, &good), Vec::<String>::new());
        for (key, wrong, place) in [
            ("way", json!("UP"), "/way: enum"),
            ("way", json!(1), "/way: type"),
            ("rates", json!([1, 0.5]), "/rates/1: type"),
            ("rates", json!([-1]), "/rates/0: minimum"),
            ("kind", json!({}), "/kind: oneOf"),
            ("others", json!({"x": "1"}), "/others/x: type"),
        ] {
            let mut document = good.clone();
            document[key] = wrong;
            let found = violations(&schema, &document).join("\n");
            assert!(found.contains(place), "{found}");
        }
        assert!(violations(&schema, &json!({}))[0].starts_with(": required"));
    }
}
