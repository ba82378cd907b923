//! A real control plane, faults and witnesses for the tests of streaming-operator.
//!
//! Nothing here knows the operator's code: it is started as a program and judged by what the API server has. Nothing
//! stays behind a test: not a process, not a file ([`children`], [`workdir`]).
//!
//! A test binary has one control plane, a test its own namespace:
//! ```no_run
//! use testkit::control_plane::{Options, Shared};
//!
//! static CLUSTER: Shared = Shared::new(Options::full(2));
//!
//! # async fn test() -> anyhow::Result<()> {
//! let cluster = CLUSTER.get().await?;
//! let namespace = cluster.namespace("heals").await?;
//! # Ok(())
//! # }
//! ```

pub mod assets;
pub mod audit;
pub mod background;
pub mod balancer;
pub mod children;
pub mod control_plane;
pub mod fake_api;
pub mod fixtures;
pub mod http;
pub mod install;
pub mod listed;
pub mod metrics_proxy;
pub mod operator;
pub mod pki;
pub mod pods;
pub mod ports;
pub mod prometheus;
pub mod proxy;
pub mod stages;
pub mod users;
pub mod wait;
pub mod workdir;
pub mod world;
