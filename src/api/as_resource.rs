//! The kind of a type that reads stored objects of another's: a reader of our own of an object that has a type already.

/// `$reader`, which has the field `metadata`, is of the kind of `$of`, a namespaced one.
macro_rules! as_resource {
    ($reader:ty, $of:ty) => {
        impl kube::Resource for $reader {
            type DynamicType = ();
            type Scope = k8s_openapi::NamespaceResourceScope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                <$of as kube::Resource>::kind(&())
            }
            fn group((): &()) -> std::borrow::Cow<'_, str> {
                <$of as kube::Resource>::group(&())
            }
            fn version((): &()) -> std::borrow::Cow<'_, str> {
                <$of as kube::Resource>::version(&())
            }
            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                <$of as kube::Resource>::plural(&())
            }
            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

pub(super) use as_resource;
