//! The usual review, read in one pass and without what nobody here looks at: `managedFields`, `status`, the options and
//! kubectl's copy of the manifest. They are more than half of a review, and as values they would cost more than judging it.
//!
//! Must never decide what is wrong with a review: whatever is unusual is left to the reader that takes everything.

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::api::authentication::v1::UserInfo;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::{API_VERSION, KIND, Kind, Operation, Request, Review};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WholeReview<'a> {
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    request: WholeRequest<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WholeRequest<'a> {
    uid: String,
    #[serde(borrow)]
    kind: WholeKind<'a>,
    #[serde(borrow)]
    operation: Cow<'a, str>,
    #[serde(default)]
    sub_resource: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    user_info: UserInfo,
    object: Object,
    #[serde(default)]
    old_object: Option<Object>,
}

#[derive(Deserialize)]
struct WholeKind<'a> {
    #[serde(borrow)]
    group: Cow<'a, str>,
    #[serde(borrow)]
    version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

/// Reads a review of an object of ours that is created or updated under a name; `None` for any other.
pub(super) fn read(body: &[u8]) -> Option<Review> {
    let review: WholeReview<'_> = serde_json::from_slice(body).ok()?;
    let WholeRequest {
        uid,
        kind,
        operation,
        sub_resource,
        name,
        namespace,
        dry_run,
        user_info,
        object,
        old_object,
    } = review.request;
    let is_review = review.kind == KIND && review.api_version == API_VERSION;
    let kind = Kind::of(&kind.group, &kind.version, &kind.kind)?;
    let operation = match &*operation {
        "CREATE" => Operation::Create,
        "UPDATE" => Operation::Update,
        _ => return None,
    };
    if !is_review || uid.is_empty() || name.is_empty() {
        return None;
    }
    Some(Review {
        uid,
        request: Ok(Request {
            kind,
            operation,
            sub_resource,
            namespace,
            name,
            dry_run,
            user: user_info,
            object: Value::Object(object.0),
            old_object: old_object.map(|object| Value::Object(object.0)),
        }),
    })
}

/// The annotation in which kubectl keeps the manifest as it was last applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object without its `status`, its `metadata.managedFields` and what kubectl last applied.
struct Object(Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Fields::Object.deserialize(deserializer).map(Self)
    }
}

/// Whose fields are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fields {
    Object,
    Metadata,
    Annotations,
}

impl<'de> DeserializeSeed<'de> for Fields {
    type Value = Map<String, Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fields {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut read = Map::new();
        while let Some(field) = fields.next_key::<String>()? {
            let value = match (self, field.as_str()) {
                (Self::Object, "status") | (Self::Metadata, "managedFields") | (Self::Annotations, LAST_APPLIED) => {
                    fields.next_value::<IgnoredAny>()?;
                    continue;
                }
                (Self::Object, "metadata") => Value::Object(fields.next_value_seed(Self::Metadata)?),
                (Self::Metadata, "annotations") => Value::Object(fields.next_value_seed(Self::Annotations)?),
                _ => fields.next_value()?,
            };
            read.insert(field, value);
        }
        Ok(read)
    }
}
