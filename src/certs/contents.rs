//! What the Secret holds, part by part: a part that is missing or broken costs only itself. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;

use super::pair::{Certificate, Pair, PairFault};

/// Certificates that clients have to trust: the signing authority, the next one, and those whose leaves may still be in
/// use. PEM.
const BUNDLE: &str = "ca.crt";
/// The serving certificate and its key, under the names of a Secret of type `kubernetes.io/tls`.
const LEAF: [&str; 2] = ["tls.crt", "tls.key"];
/// The authority that signs.
const SIGNING: [&str; 2] = ["signing-ca.crt", "signing-ca.key"];
/// The authority that will sign when everybody trusts it.
const NEXT: [&str; 2] = ["next-ca.crt", "next-ca.key"];
/// Serving certificates that were replaced and have not expired, without keys.
const PAST_LEAVES: &str = "past-leaves.crt";

/// The parts of the Secret that could be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    /// The authority that signs.
    pub signing: Option<Pair>,
    /// The authority that will sign next.
    pub next: Option<Pair>,
    /// What is served.
    pub leaf: Option<Pair>,
    /// Authorities that signed before and are still trusted.
    pub retired: Vec<Certificate>,
    /// Leaves that were served before and have not expired.
    pub past_leaves: Vec<Certificate>,
    /// What could not be read, as `key: why`.
    pub faults: Vec<String>,
}

impl Contents {
    /// Reads the data of a Secret.
    #[must_use]
    pub fn parse(data: &BTreeMap<String, ByteString>) -> Self {
        let mut faults = Vec::new();
        let signing = pair(data, SIGNING, &mut faults);
        let next = pair(data, NEXT, &mut faults);
        let leaf = pair(data, LEAF, &mut faults);
        let bundle = certificates(data, BUNDLE, &mut faults);
        for (name, authority) in [(SIGNING[0], &signing), (NEXT[0], &next)] {
            let authority = authority.as_ref().map(Pair::certificate);
            if authority.is_some_and(|authority| !bundle.contains(authority)) {
                faults.push(format!("{BUNDLE}: {name} is missing from it"));
            }
        }
        let is_current = |certificate: &Certificate| {
            let current = [&signing, &next].into_iter().flatten();
            current.map(Pair::certificate).any(|authority| authority == certificate)
        };
        Self {
            retired: bundle
                .into_iter()
                .filter(|certificate| !is_current(certificate))
                .collect(),
            past_leaves: certificates(data, PAST_LEAVES, &mut faults),
            signing,
            next,
            leaf,
            faults,
        }
    }

    /// The data of the Secret that holds this.
    #[must_use]
    pub fn to_data(&self) -> BTreeMap<String, ByteString> {
        let mut data = BTreeMap::new();
        let mut put = |key: &str, value: Vec<u8>| {
            data.insert(key.to_owned(), ByteString(value));
        };
        for (keys, pair) in [(LEAF, &self.leaf), (SIGNING, &self.signing), (NEXT, &self.next)] {
            if let Some(pair) = pair {
                put(keys[0], pair.chain_pem().into_bytes());
                put(keys[1], pair.key_pem().to_vec());
            }
        }
        put(BUNDLE, self.bundle_pem());
        if !self.past_leaves.is_empty() {
            let pem: String = self.past_leaves.iter().map(Certificate::to_pem).collect();
            put(PAST_LEAVES, pem.into_bytes());
        }
        data
    }

    /// Every authority that has to be trusted.
    pub fn bundle(&self) -> impl Iterator<Item = &Certificate> {
        let current = [&self.signing, &self.next].into_iter().flatten();
        current.map(Pair::certificate).chain(&self.retired)
    }

    /// [`Contents::bundle`] as PEM text, which is what `caBundle` takes.
    #[must_use]
    pub fn bundle_pem(&self) -> Vec<u8> {
        self.bundle().map(Certificate::to_pem).collect::<String>().into_bytes()
    }

    /// The leaf, if it may be served at `now`: not expired, and by an authority of the bundle.
    #[must_use]
    pub fn usable_leaf(&self, now: Timestamp) -> Option<&Pair> {
        let leaf = self.leaf.as_ref().filter(|leaf| now <= leaf.certificate().not_after)?;
        let mut bundle = self.bundle();
        bundle
            .any(|authority| leaf.certificate().names_issuer(authority))
            .then_some(leaf)
    }

    /// Whether nothing is broken and there are a usable leaf and a valid authority at `now`.
    #[must_use]
    pub fn is_whole(&self, now: Timestamp) -> bool {
        let signing = self.signing.as_ref().map(Pair::certificate);
        let can_sign = signing.is_some_and(|signing| now <= signing.not_after);
        self.faults.is_empty() && can_sign && self.usable_leaf(now).is_some()
    }

    /// Whether `authority` signed a leaf that is served, or was and has not expired at `now`.
    #[must_use]
    pub fn is_needed(&self, authority: &Certificate, now: Timestamp) -> bool {
        let leaf = self.leaf.iter().map(Pair::certificate);
        let mut leaves = leaf.chain(&self.past_leaves);
        leaves.any(|leaf| now <= leaf.not_after && leaf.names_issuer(authority))
    }
}

/// A pair of which both halves are there; one half, or a broken one, is a fault.
fn pair(data: &BTreeMap<String, ByteString>, [certificate, key]: [&str; 2], faults: &mut Vec<String>) -> Option<Pair> {
    let parsed = match (data.get(certificate), data.get(key)) {
        (None, None) => return None,
        (Some(_), None) => Err((key, "is missing".to_owned())),
        (None, Some(_)) => Err((certificate, "is missing".to_owned())),
        (Some(chain), Some(private)) => Pair::parse(&chain.0, &private.0).map_err(|fault| match fault {
            PairFault::CertificatePem(_) | PairFault::Certificate(_) => (certificate, fault.to_string()),
            PairFault::KeyPem(_) | PairFault::Mismatch(_) => (key, fault.to_string()),
        }),
    };
    parsed.map_err(|(key, why)| faults.push(format!("{key}: {why}"))).ok()
}

fn certificates(data: &BTreeMap<String, ByteString>, key: &str, faults: &mut Vec<String>) -> Vec<Certificate> {
    let Some(pem) = data.get(key) else {
        return Vec::new();
    };
    Certificate::parse_all(&pem.0).unwrap_or_else(|fault| {
        faults.push(format!("{key}: {fault}"));
        Vec::new()
    })
}
