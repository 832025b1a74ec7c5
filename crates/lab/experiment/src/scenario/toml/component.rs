//! Parts that come in kinds: `"codel"` or `{ kind = "codel", target = "5 ms" }`.

use super::error::{Error, Origin, not_among};
use super::node::{Node, Value};

/// The kind of a part and the table of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    pub kind: String,
    /// Where the kind was written.
    pub origin: Origin,
    pub params: Node,
}

impl Component {
    /// Takes a part apart. `allowed` are the kinds there are.
    pub fn of(node: &Node, key: &str, allowed: &[&str]) -> Result<Component, Error> {
        let fault =
            |origin: &Origin, message: String| Err(Error::new(origin.clone(), key, message));
        let component = match &node.value {
            Value::Text(kind) => Component {
                kind: kind.clone(),
                origin: node.origin.clone(),
                params: Node::table(node.origin.clone()),
            },
            Value::Table(_) => {
                let mut params = node.clone();
                let Some(kind) = params.take("kind") else {
                    return fault(
                        &node.origin,
                        format!("\"kind\" is missing (one of {})", allowed.join(", ")),
                    );
                };
                let Some(text) = kind.as_text() else {
                    return fault(
                        &kind.origin,
                        format!(
                            "found {}; expected a kind ({})",
                            kind.kind(),
                            allowed.join(", ")
                        ),
                    );
                };
                Component {
                    kind: text.to_owned(),
                    origin: kind.origin.clone(),
                    params,
                }
            }
            _ => {
                return fault(
                    &node.origin,
                    format!(
                        "found {}; expected a kind ({})",
                        node.kind(),
                        allowed.join(", ")
                    ),
                );
            }
        };
        if !allowed.contains(&component.kind.as_str()) {
            return fault(
                &component.origin,
                not_among("kind", &component.kind, allowed),
            );
        }
        Ok(component)
    }
}
