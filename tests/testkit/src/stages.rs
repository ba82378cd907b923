//! What kwok makes of Pods and nodes.
use anyhow::Result;

/// All stages, as one file for kwok.
///
/// # Errors
/// When a file cannot be read.
pub fn all() -> Result<String> {
    let folder = crate::assets::asset("kwok-stages")?;
    let mut text = String::new();
    for file in [
        "pod/fast/pod-ready.yaml",
        "pod/fast/pod-complete.yaml",
        "pod/fast/pod-delete.yaml",
        "node/fast/node-initialize.yaml",
        "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    ] {
        text.push_str("---\n");
        text.push_str(&std::fs::read_to_string(folder.join(file))?);
    }
    Ok(text)
}
