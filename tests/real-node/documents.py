#!/usr/bin/env python3
"""Write the distinct status documents of Pods from a watch of them, one file a Pod.

usage: kubectl get pods --watch --output-watch-events -o json | documents.py FOLDER KUBELET_VERSION

A file has what the Pod was made for, the parts of its spec that its status speaks of, and its documents in order. One that
differs only in times, counts and numbers from an earlier one, of this Pod or of one before it in the alphabet, is left out
unless it is the last: how every Pod begins is told once. Addresses, digests and resources are left out of each.
"""
import json
import os
import re
import sys

METADATA = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers")
STATUS = ("phase", "reason", "message", "startTime", "conditions",
          "initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
CONTAINER_STATUS = ("name", "state", "lastState", "ready", "started", "restartCount")
SPEC = ("restartPolicy", "terminationGracePeriodSeconds", "activeDeadlineSeconds")
CONTAINER = ("name", "restartPolicy")
CONFIG = "/etc/pipeline-config"


def pick(source, keys):
    return {key: source[key] for key in keys if key in source}


def container(spec):
    mounts = [{"name": mount["name"], "mountPath": CONFIG}
              for mount in spec.get("volumeMounts", []) if mount["mountPath"] == CONFIG]
    return {**pick(spec, CONTAINER), **({"volumeMounts": mounts} if mounts else {})}


def container_status(status):
    trimmed = pick(status, CONTAINER_STATUS)
    for state in ("state", "lastState"):
        for kind in trimmed.get(state, {}).values():
            kind.pop("containerID", None)
    return {key: value for key, value in trimmed.items() if value not in ({}, None)}


def spec_of(pod):
    spec = pick(pod["spec"], SPEC)
    for kind in ("initContainers", "containers"):
        if kind in pod["spec"]:
            spec[kind] = [container(one) for one in pod["spec"][kind]]
    return spec


def document(pod):
    status = pick(pod.get("status", {}), STATUS)
    for condition in status.get("conditions", []):
        for key in ("lastProbeTime", "observedGeneration"):
            condition.pop(key, None)
    for kind in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        if kind in status:
            status[kind] = [container_status(one) for one in status[kind]]
    return {"metadata": pick(pod["metadata"], METADATA), "status": status}


def events(text):
    """The JSON values that stand one after the other in a text; the last may be cut off."""
    decoder, at = json.JSONDecoder(), 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            return
        yield value


def shape(spec, status_document):
    """What makes a document another than the one before it."""
    containers = [spec.get(kind) for kind in ("initContainers", "containers")]
    return json.dumps(containers) + re.sub(r"[0-9]+", "N", re.sub(r"(Count\": )-?[0-9]+", r"\1N", json.dumps(status_document)))


def exit_codes(status_document):
    return re.findall(r'"exitCode": ([0-9]+)', json.dumps(status_document))


def main(folder, kubelet):
    os.makedirs(folder, exist_ok=True)
    pods = {}
    for event in events(sys.stdin.read()):
        pods.setdefault(event["object"]["metadata"]["name"], []).append(event["object"])
    seen, count = set(), 0
    for name, versions in sorted(pods.items()):
        spec = spec_of(versions[0])
        documents = []
        for version in versions:
            now = document(version)
            key = (shape(spec, now), *exit_codes(now))
            if key not in seen or version is versions[-1]:
                seen.add(key)
                documents.append(now)
        life = {
            "what": versions[0]["metadata"]["annotations"]["what"],
            "made": f"Pod {name} of tests/real-node/shapes.yaml, seen by tests/real-node/capture.sh",
            "kubelet": kubelet,
            "spec": spec,
            "documents": documents,
        }
        count += len(documents)
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(life, file, indent=1)
            file.write("\n")
    print(f"{count} documents of {len(pods)} Pods in {folder}")


main(*sys.argv[1:])
