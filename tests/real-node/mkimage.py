#!/usr/bin/env python3
"""Make an OCI image archive from one static binary, for containers of the tests.

usage: mkimage.py OUT.tar NAME:TAG BINARY [--link PATH ...] [--entrypoint WORD ...]

The binary becomes /BASENAME; each link is a symbolic link to it. Same input, same bytes. Import it with
    ctr -n k8s.io images import OUT.tar
"""
import argparse
import hashlib
import io
import json
import os
import platform
import tarfile

MEDIA = "application/vnd.oci.image."
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def entry(name, mode, kind=tarfile.REGTYPE, size=0, target=""):
    """A member of an archive, owned by root and as old as time."""
    info = tarfile.TarInfo(name)
    info.mode, info.type, info.size, info.linkname = mode, kind, size, target
    return info


def tar(members):
    """The bytes of an archive of (member, content) pairs."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def layer(binary, links):
    with open(binary, "rb") as file:
        content = file.read()
    name = os.path.basename(binary)
    members = [(entry("tmp", 0o1777, tarfile.DIRTYPE), b"")]
    for folder in sorted({os.path.dirname(link) for link in links} - {""}):
        members.append((entry(folder, 0o755, tarfile.DIRTYPE), b""))
    members.append((entry(name, 0o755, size=len(content)), content))
    members += [(entry(link, 0o777, tarfile.SYMTYPE, target="/" + name), b"") for link in links]
    return tar(members)


def image(reference, content, entrypoint):
    """The bytes of an OCI archive of one layer."""
    blobs = {}

    def blob(kind, data):
        digest = hashlib.sha256(data).hexdigest()
        blobs["blobs/sha256/" + digest] = data
        return {"mediaType": MEDIA + kind, "digest": "sha256:" + digest, "size": len(data)}

    first = blob("layer.v1.tar", content)
    config = blob("config.v1+json", json.dumps({
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {"Entrypoint": entrypoint, "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [first["digest"]]},
    }).encode())
    manifest = blob("manifest.v1+json", json.dumps({
        "schemaVersion": 2, "mediaType": MEDIA + "manifest.v1+json", "config": config, "layers": [first],
    }).encode())
    manifest["annotations"] = {"io.containerd.image.name": reference}
    index = json.dumps({"schemaVersion": 2, "manifests": [manifest]}).encode()
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index, **blobs}
    return tar([(entry(name, 0o644, size=len(data)), data) for name, data in files.items()])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("reference")
    parser.add_argument("binary")
    parser.add_argument("--link", action="append", default=[])
    parser.add_argument("--entrypoint", nargs=argparse.REMAINDER, default=[])
    args = parser.parse_args()
    data = image(args.reference, layer(args.binary, args.link), args.entrypoint)
    with open(args.out + ".new", "wb") as file:
        file.write(data)
    os.replace(args.out + ".new", args.out)


main()
