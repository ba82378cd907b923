//! The webhook's certificate: where it comes from, when it is renewed, how every replica gets it, and that the API
//! server trusts it.
//!
//! Two sources. *Self-made*: the leader keeps a CA and a serving certificate in one Secret, and every replica serves
//! what the Secret holds ([`due`] decides, [`authority`] makes, [`secret`] reads and writes). *Files*: a mounted Secret
//! that someone else keeps ([`files`]). Either way [`ca_bundle`] keeps `caBundle` of our webhook configurations and says
//! whether the served certificate is trusted by it; [`warnings`] tells people in time.
//!
//! Must never log or show a key, serve a pair whose halves do not match, or give up a good pair for a bad one.

pub mod authority;
pub mod ca_bundle;
pub mod contents;
pub mod due;
pub mod files;
pub mod pair;
pub mod resolver;
pub mod run;
pub mod secret;
pub mod trust;
pub mod warnings;

pub use resolver::ServingCertificate;
pub use run::{Deps, Mounted, SelfMade, Settings, Source, run};
