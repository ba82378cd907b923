#!/usr/bin/env bash
# `make image`: builds the operator's image as an OCI archive and its bill of materials, without a Docker engine. The last lines
# are their paths. The same commit and compiler give the same bytes.
#
#   IMAGE_PROFILE   cargo's profile (default release; ci builds sooner, without link-time optimisation)
#   IMAGE_SBOM=no   leave the bill of materials out
#
# Needs buildah (a package of Debian, Fedora and others): as root, or with user namespaces.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
profile=${IMAGE_PROFILE:-release}
target=${CARGO_TARGET_DIR:-target}
out=target/image
command -v buildah >/dev/null || { echo "image: buildah is missing: apt-get install --no-install-recommends buildah" >&2; exit 1; }

version=$(awk -F '"' '/^version = / { print $2; exit }' Cargo.toml)
commit=${STREAMING_OPERATOR_COMMIT:-$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)}
case $(uname -m) in
  x86_64) arch=amd64 ;;
  aarch64) arch=arm64 ;;
  *) echo "image: no image is made for $(uname -m)" >&2; exit 1 ;;
esac
triple=$(uname -m)-unknown-linux-gnu
mkdir -p "$out/$arch"

# Static, glibc included, so that the image needs nothing else; and without the paths of this machine.
program() {
  local cargo_home=${CARGO_HOME:-$HOME/.cargo}
  export STREAMING_OPERATOR_COMMIT=$commit
  RUSTFLAGS="-C target-feature=+crt-static --remap-path-prefix=$PWD=/streaming-operator --remap-path-prefix=$cargo_home=/cargo" \
    cargo build --locked --quiet --profile "$profile" --target "$triple" --bin streaming-operator
  # The profile of CI keeps symbols; an image has no use for them.
  strip -o "$out/$arch/streaming-operator" "$target/$triple/$profile/streaming-operator"
}

# Every layer, file and history entry is as old as time, and the archive's members are sorted: no clock gets in.
archive() {
  local store layout
  store=$(mktemp -d)
  layout=$(mktemp -d)
  # shellcheck disable=SC2064 # the folders of now
  trap "rm -rf '$store' '$layout'" EXIT
  local buildah=(buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs)
  "${buildah[@]}" build --quiet --no-cache --timestamp 0 --platform "linux/$arch" --file Dockerfile \
    --build-arg "VERSION=$version" --build-arg "COMMIT=$commit" --tag "streaming-operator:$version" . >&2
  "${buildah[@]}" push --quiet --format oci "streaming-operator:$version" "oci:$layout:$version" >&2
  tar --create --file "$out/streaming-operator.tar" --directory "$layout" --sort=name --mtime=@0 --owner=0 --group=0 \
    --numeric-owner --mode=a=rX,u+w .
}

# Every crate that the program is built of, with version, licence and checksum, as CycloneDX.
bill_of_materials() {
  local tools=${STREAMING_OPERATOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/streaming-operator}/cargo-cyclonedx-0.5.9
  [ -x "$tools/bin/cargo-cyclonedx" ] ||
    cargo install --quiet --locked --root "$tools" --version 0.5.9 cargo-cyclonedx >&2
  SOURCE_DATE_EPOCH=0 PATH="$tools/bin:$PATH" cargo cyclonedx --quiet --format json --spec-version 1.5 --no-build-deps \
    --target "$triple" --override-filename bill-of-materials >&2
  # It names the folder of the checkout, and writes one for each member of the workspace; the tests are in no image.
  sed "s#file://$PWD#file:///streaming-operator#g" bill-of-materials.json >"$out/streaming-operator.cdx.json"
  find . -maxdepth 3 -name bill-of-materials.json -not -path "./target/*" -delete
}

program
archive
[ "${IMAGE_SBOM:-}" = no ] || { bill_of_materials && echo "$out/streaming-operator.cdx.json"; }
echo "$out/streaming-operator.tar"
