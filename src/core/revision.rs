//! The revision of a spec: what the user asked for, as a digest.
//!
//! Must never change for a stored spec: another digest restarts every Pod of the pipeline. So a field at its default
//! counts as absent (a field of a later release leaves old digests alone), and a test pins digests for ever.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::api::StreamingPipelineSpec;
use crate::api::streaming_pipeline::{LogLevel, OpenObject, default_container_name};

use super::names::Revision;
use super::sorted_json::CANONICAL;

/// The revision of `spec`, which belongs to the object named `object_name`: the first ten hex digits of the SHA-256 of
/// its canonical JSON (keys sorted, no white space, numbers as the API server hands them out), without what changes no
/// Pod template (`replicas`, `with_canary`, `rollout`, `suspend`, `revisionHistoryLimit`) and without every field that
/// is absent, `{}` or equal to its default. The default of `pipeline_name` is `object_name`: written or left out, the
/// revision is the same. Two objects may therefore share a revision, which means something within one object only.
#[must_use]
pub fn revision(spec: &StreamingPipelineSpec, object_name: &str) -> Revision {
    let digest: [u8; 32] = Sha256::digest(canonical(spec, object_name).as_bytes()).into();
    Revision::of_digest(&digest)
}

/// The revision of a Deployment: the SHA-256 of the canonical JSON of its `.spec.template`, in hex digits. Everything in the
/// template is part of it, what the API server defaulted and what this release does not know included.
#[must_use]
pub fn of_template(template: &OpenObject) -> String {
    let mut text = String::new();
    CANONICAL.write_object(&mut text, template);
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().fold(String::new(), |mut hex, byte| {
        // Writing into a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn canonical(spec: &StreamingPipelineSpec, object_name: &str) -> String {
    // Without `..`: whoever adds a field decides here whether it is part of the revision.
    let StreamingPipelineSpec {
        service_name,
        pipeline_name,
        pipeline_module,
        image_name,
        cpu_per_process,
        memory_per_process,
        deployment_template,
        container_template,
        pipeline_config,
        replicas: _,
        with_canary: _,
        segment_id,
        log_level,
        enable_liveness_probe,
        container_name,
        emergency_patch,
        rollout: _,
        suspend: _,
        revision_history_limit: _,
    } = spec;
    // Most are not much longer.
    let mut fields = Fields(String::with_capacity(1024));
    fields.0.push('{');
    // In the order of their names.
    if container_name != &default_container_name() {
        fields.text("container_name", container_name);
    }
    fields.object("container_template", container_template);
    fields.raw("cpu_per_process", &cpu_per_process.to_string());
    fields.object("deployment_template", deployment_template);
    if let Some(patch) = emergency_patch {
        fields.object("emergency_patch", patch);
    }
    if !enable_liveness_probe {
        fields.raw("enable_liveness_probe", "false");
    }
    fields.text("image_name", image_name);
    if *log_level != LogLevel::default() {
        fields.text("log_level", log_level.as_str());
    }
    fields.raw("memory_per_process", &memory_per_process.to_string());
    fields.object("pipeline_config", pipeline_config);
    fields.text("pipeline_module", pipeline_module);
    if let Some(name) = pipeline_name.as_deref()
        && name != object_name
    {
        fields.text("pipeline_name", name);
    }
    if *segment_id != 0 {
        fields.raw("segment_id", &segment_id.to_string());
    }
    fields.text("service_name", service_name);
    fields.0.push('}');
    fields.0
}

struct Fields(String);

impl Fields {
    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        CANONICAL.write_text(&mut self.0, name);
        self.0.push(':');
    }

    fn raw(&mut self, name: &str, value: &str) {
        self.name(name);
        self.0.push_str(value);
    }

    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        CANONICAL.write_text(&mut self.0, value);
    }

    fn object(&mut self, name: &str, value: &OpenObject) {
        if !value.is_empty() {
            self.name(name);
            CANONICAL.write_object(&mut self.0, value);
        }
    }
}

#[cfg(test)]
mod tests;
