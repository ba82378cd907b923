//! The control plane and its witnesses.
use testkit::control_plane::{Options, Shared};
static CLUSTER: Shared = Shared::new(Options::full(2));

#[tokio::test]
async fn it_starts() -> anyhow::Result<()> {
    let cluster = CLUSTER.get().await?;
    let ns = cluster.namespace("x").await?;
    println!("{ns}");
    println!("{}", cluster.kubectl(&["get", "nodes,ns", "-o", "wide"]).await?);
    let m = cluster.audit().mark(&cluster.admin().await?).await?;
    cluster.kubectl(&["-n", &ns, "create", "cm", "x"]).await?;
    println!("{:#?}", cluster.audit().since(m, &cluster.admin().await?).await?);
    Ok(())
}
