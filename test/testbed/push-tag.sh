#!/usr/bin/env bash
# push-tag.sh [--relabel] <repo> <from tag> <to tag>: makes a tag appear in the registry, without pull or push. Prints the digest behind it.
# Plain, the new tag is a second name of the same image, so the digest and the version label stay the old ones.
# With --relabel it is an image of its own that claims the new version; its contents are the same, and a server that is asked still says so.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"

relabel=
if [[ ${1:-} == --relabel ]]; then relabel=1; shift; fi
(($# == 3)) || die 'usage: push-tag.sh [--relabel] <repo> <from tag> <to tag>, e.g. push-tag.sh synapse v1.163.2 v1.163.3'
repo=$1 from=$2 to=$3

type='application/vnd.docker.distribution.manifest.v2+json'
api=http://$REGISTRY/v2/tenantry/$repo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
digest_of() { echo "sha256:$(sha256sum <"$1" | cut -d' ' -f1)"; }

push_blob() {
  local at
  at=$(curl -fsS -o /dev/null -D - -X POST "$api/blobs/uploads/" | tr -d '\r' | sed -n 's/^location: //Ip')
  curl -fsS -o /dev/null -X PUT -H 'Content-Type: application/octet-stream' --data-binary "@$1" "$at&digest=$(digest_of "$1")"
}

curl -fsS -H "Accept: $type" -o "$work/manifest" "$api/manifests/$from"
if [[ $relabel ]]; then
  curl -fsSL -o "$work/config" "$api/blobs/$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["config"]["digest"])' "$work/manifest")"
  python3 - "$work" "$to" <<'PY'
import hashlib, json, sys

work, version = sys.argv[1:]
with open(f"{work}/config") as file:
    config = json.load(file)
config["config"]["Labels"]["org.opencontainers.image.version"] = version
blob = json.dumps(config).encode()
with open(f"{work}/config", "wb") as file:
    file.write(blob)
with open(f"{work}/manifest") as file:
    manifest = json.load(file)
manifest["config"].update(size=len(blob), digest="sha256:" + hashlib.sha256(blob).hexdigest())
with open(f"{work}/manifest", "w") as file:
    json.dump(manifest, file)
PY
  push_blob "$work/config"
fi
curl -fsS -o /dev/null -X PUT -H "Content-Type: $type" --data-binary "@$work/manifest" "$api/manifests/$to"
digest_of "$work/manifest"
