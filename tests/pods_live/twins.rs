//! Whether two live Pods of one ordinal ever existed, as the audit log tells it.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use testkit::audit::Record;

/// A Pod: when its create was asked for, and when it was first told to end or said that it had.
#[derive(Debug)]
struct Life {
    name: String,
    from: Timestamp,
    to: Option<Timestamp>,
}

/// Creates of Pods in `namespace` that came while another Pod of the ordinal was live: neither told to end, nor ended.
pub(crate) fn twins(records: &[Record], namespace: &str) -> Vec<String> {
    let mut ordinals: BTreeMap<String, Vec<Life>> = BTreeMap::new();
    let pods = records.iter().filter(|record| {
        record.namespace == namespace && record.resource == "pods" && record.succeeded() && record.is_write()
    });
    let mut pods: Vec<&Record> = pods.collect();
    pods.sort_by_key(|record| record.received);
    let mut twins = Vec::new();
    for record in pods {
        let name = name_of(record);
        let Some((ordinal, _)) = name.rsplit_once('-') else {
            continue;
        };
        let lives = ordinals.entry(ordinal.to_owned()).or_default();
        if record.is("create", "pods") {
            let other = lives.iter().find(|life| life.to.is_none());
            twins.extend(other.map(|other| format!("{name} beside {} of {}", other.name, other.from)));
            lives.push(Life {
                name,
                from: record.received,
                to: None,
            });
        } else if ends(record)
            && let Some(life) = lives.iter_mut().find(|life| life.name == name && life.to.is_none())
        {
            life.to = Some(record.received);
        }
    }
    twins
}

/// Names of the Pods that were created in `namespace`, in the order in which that was asked for.
pub(crate) fn created(records: &[Record], namespace: &str) -> Vec<String> {
    let creates = records.iter().filter(|record| {
        record.namespace == namespace && record.is("create", "pods") && record.succeeded() && record.is_write()
    });
    creates.map(name_of).collect()
}

/// The name is in the path, but for a create.
fn name_of(record: &Record) -> String {
    let body = record.body.as_ref();
    let in_body = body.and_then(|body| body.pointer("/metadata/name")?.as_str());
    in_body
        .filter(|_| record.verb == "create")
        .unwrap_or(&record.name)
        .to_owned()
}

fn ends(record: &Record) -> bool {
    let phase = record
        .body
        .as_ref()
        .and_then(|body| body.pointer("/status/phase")?.as_str());
    record.verb == "delete" || matches!(phase, Some("Failed" | "Succeeded"))
}
