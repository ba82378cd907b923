"""The Python operator as its earlier releases were: their owner label and annotations had no `pipeline.` before them."""

import sys

from sentry_streams_k8s.operator import constants

for name in ("OWNER_UID_LABEL", "OWNER_NAME_ANNOTATION", "OWNER_NAMESPACE_ANNOTATION"):
    setattr(constants, name, getattr(constants, name).removeprefix("pipeline."))

from sentry_streams_k8s.operator import operator, reconcile  # noqa: E402  (after its names are changed)

assert reconcile.OWNER_UID_LABEL == "streams.sentry.io/owner-uid"
sys.exit(operator.main())
