"""AdmissionReview bodies as an API server sends them, made of the golden specs. Same input, same bytes.

small: one golden spec each, 2 to 11 kB. large: about 100 kB each, put together from pieces of golden specs and parts that
are common in Pod templates; a tenth of them have a fault.
"""

import copy
import json
import os
import random
import uuid

SMALL_BYTES = (2_000, 11_000)
LARGE_BYTES = 100_000
LARGE_NUMBER = 40
KIND = {"group": "streams.sentry.io", "version": "v1alpha1", "kind": "StreamingPipeline"}
RESOURCE = {"group": "streams.sentry.io", "version": "v1alpha1", "resource": "streamingpipelines"}
# The types of the CRD: what the API server refuses by its schema never comes to a webhook.
TYPES = {
    "service_name": str, "pipeline_module": str, "image_name": str, "cpu_per_process": int, "memory_per_process": int,
    "deployment_template": dict, "container_template": dict, "pipeline_config": dict, "pipeline_name": str,
    "replicas": int, "with_canary": bool, "segment_id": int, "log_level": str, "enable_liveness_probe": bool,
    "container_name": str, "emergency_patch": dict,
}
REQUIRED = list(TYPES)[:8]


def fits_the_crd(spec):
    known = all(name in TYPES and type(value) is TYPES[name] for name, value in spec.items())
    return known and all(name in spec for name in REQUIRED)


def managed_fields(value):
    if isinstance(value, dict) and value:
        return {f"f:{key}": managed_fields(inner) for key, inner in value.items()}
    return {}


class Reviews:
    def __init__(self):
        self.random = random.Random(605)
        self.number = 0

    def uid(self):
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def of(self, spec):
        """A review of a creation, or, one in three, of an edit; each of a pipeline with a namespace of its own, so that
        no two have names in common."""
        self.number += 1
        # Names are reserved for the one that asked first, which the reference does not do.
        name, namespace = f"pipe-{self.number}", f"ingest-{self.number}"
        kind = {"apiVersion": "streams.sentry.io/v1alpha1", "kind": "StreamingPipeline"}
        applied = {**kind, "metadata": {"annotations": {}, "name": name, "namespace": namespace}, "spec": spec}
        last_applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(applied, separators=(",", ":")) + "\n"}
        opaque = ("pipeline_config", "emergency_patch")
        fields = {
            "f:metadata": {"f:annotations": {".": {}, **{f"f:{key}": {} for key in last_applied}}},
            "f:spec": {f"f:{key}": {} if key in opaque else managed_fields(value) for key, value in spec.items()},
        }
        metadata = {
            "name": name, "namespace": namespace, "uid": self.uid(), "creationTimestamp": "2026-11-30T12:00:00Z",
            "generation": 1, "labels": {"team": "ingest", "app.kubernetes.io/managed-by": "Helm"},
            "annotations": last_applied,
            "managedFields": [{
                "manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": kind["apiVersion"],
                "time": "2026-11-30T12:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields,
            }],
        }
        new, old, operation = {**kind, "metadata": metadata, "spec": spec}, None, "CREATE"
        if self.number % 3 == 0:
            operation = "UPDATE"
            metadata["resourceVersion"] = "4711"
            old = copy.deepcopy(new)
            old["spec"]["cpu_per_process"] += 50
            metadata["generation"] = 2
        return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
            "uid": self.uid(), "kind": KIND, "resource": RESOURCE, "requestKind": KIND, "requestResource": RESOURCE,
            "name": name, "namespace": namespace, "operation": operation,
            "userInfo": {
                "username": "oidc:deployer@example.org", "uid": "7d1f0f7e", "groups": ["platform", "system:authenticated"],
                "extra": {"authentication.kubernetes.io/credential-id": ["JTI=5f0c6c1e-9a4b-4a55-8f0e-0d6f1b1c9a10"]},
            },
            "object": new, "oldObject": old, "dryRun": False,
            "options": {
                "kind": f"{operation.title()}Options", "apiVersion": "meta.k8s.io/v1",
                "fieldManager": "kubectl-client-side-apply", "fieldValidation": "Strict",
            },
        }}


def encoded(review):
    return json.dumps(review, separators=(",", ":"), ensure_ascii=False).encode()


def plain(spec):
    """Whether it looks like what people write: no characters of a fuzzer."""
    return all(31 < ord(char) < 127 for char in json.dumps(spec, ensure_ascii=False))


def steps_of(specs):
    """The different steps of these configs, in a fixed order."""
    steps = {}
    for spec in filter(plain, specs):
        for segment in spec["pipeline_config"].get("pipeline", {}).get("segments", []):
            for step in (segment.get("steps_config") or {}).values():
                if isinstance(step, dict) and "parallelism" not in step:
                    steps.setdefault(json.dumps(step, sort_keys=True), step)
    return list(steps.values())


def segment(draw, steps, number):
    config = {}
    for step in range(draw.randint(4, 10)):
        config[f"step_{number}_{step}"] = {
            **copy.deepcopy(draw.choice(steps)), "batch_size": draw.randint(10, 5000),
            "batch_time": draw.randint(1, 99) / 10, "topic": f"ingest-events-{number}-{step}",
            "bootstrap_servers": [f"kafka-{broker}.kafka.svc.cluster.local:9092" for broker in range(3)],
        }
    config[f"step_{number}_0"]["dlq"] = {
        "topic": f"ingest-dlq-{number}", "bootstrap_servers": ["kafka-0.kafka.svc.cluster.local:9092"],
        "override_params": {"compression.type": "zstd"},
    }
    return {"steps_config": config}


def large_spec(draw, steps, segments):
    env = [{"name": f"SETTING_{n}", "value": f"value-{n}-" + "x" * draw.randint(4, 40)} for n in range(40)]
    env += [{"name": f"SECRET_{n}", "valueFrom": {"secretKeyRef": {"name": "ingest", "key": f"k{n}"}}} for n in range(10)]
    labels = {"team": "ingest", "cost-center": "42"}
    spread = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
    pod = {
        "serviceAccountName": "ingest", "terminationGracePeriodSeconds": 120, "nodeSelector": {"pool": "consumers"},
        "tolerations": [{"key": f"k{n}", "operator": "Exists", "effect": "NoSchedule"} for n in range(4)],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "podAffinityTerm": spread}]}},
        "containers": [{"name": "statsd", "image": "statsd:3", "env": env[:10]}],
        "volumes": [{"name": f"v{n}", "emptyDir": {}} for n in range(6)],
    }
    return {
        "service_name": "ingest", "pipeline_name": "large", "pipeline_module": "ingest.pipelines.large",
        "image_name": "registry.example/ingest@sha256:" + "ab" * 32, "cpu_per_process": 500,
        "memory_per_process": 1024, "replicas": draw.randint(1, 64), "log_level": "INFO",
        "deployment_template": {"metadata": {"labels": labels}, "spec": {"template": {
            "metadata": {"labels": labels, "annotations": {"scrape": "true"}}, "spec": pod}}},
        "container_template": {
            "env": env, "securityContext": {"runAsUser": 1000},
            "volumeMounts": [{"name": f"v{n}", "mountPath": f"/v{n}"} for n in range(6)],
        },
        "pipeline_config": {
            "env": {"region": "eu"}, "metrics": {"type": "datadog", "host": "${envvar:HOST_IP}", "port": 8126},
            "pipeline": {
                "adapter_config": {"arroyo": {"write_healthcheck": True}},
                "segments": [segment(draw, steps, number) for number in range(segments)],
            },
        },
    }


def large_body(reviews, steps, is_faulty):
    """A body with as many segments as bring it nearest above its size."""
    state, number, segments = reviews.random.getstate(), reviews.number, 1
    while True:
        reviews.random.setstate(state)
        reviews.number = number
        spec = large_spec(reviews.random, steps, segments)
        if is_faulty:
            spec["segment_id"] = 10_000
        body = encoded(reviews.of(spec))
        if len(body) >= LARGE_BYTES:
            return body
        segments += 1


def small_and_large(golden):
    """Bodies by kind: {"valid", "refused", "large"}; the small ones are candidates, of which a choice is to be made."""
    with open(golden) as file:
        rows = [json.loads(line) for line in file]
    rows = [row for row in rows if fits_the_crd(row["spec"])]
    reviews = Reviews()
    bodies = {"valid": [], "refused": []}
    for row in rows:
        body = encoded(reviews.of(row["spec"]))
        if SMALL_BYTES[0] <= len(body) <= SMALL_BYTES[1]:
            bodies["valid" if row["ok"] else "refused"].append(body)
    steps = steps_of(row["spec"] for row in rows if row["ok"])
    bodies["large"] = [large_body(reviews, steps, index % 10 == 9) for index in range(LARGE_NUMBER)]
    return bodies


def save(folder, bodies):
    os.makedirs(folder)
    for index, body in enumerate(bodies):
        with open(os.path.join(folder, f"{index:04}.json"), "wb") as file:
            file.write(body)
