#!/usr/bin/env bash
# Writes testbed.json, all that a test needs to know about the test bed.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"

digest_of() {
  curl -fsS --head -H 'Accept: application/vnd.docker.distribution.manifest.v2+json' "http://$REGISTRY/v2/tenantry/$1/manifests/$2" |
    tr -d '\r' | sed -n 's/^docker-content-digest: //Ip'
}

# image <key> <repo> <tag>: one member of "images".
image() {
  local digest
  digest=$(digest_of "$2" "$3")
  [[ -n $digest ]] || die "$REPOSITORY/$2:$3 is not in the registry"
  printf '    "%s": { "repository": "%s", "tag": "%s", "ref": "%s", "digest": "%s" }' "$1" "$REPOSITORY/$2" "$3" "$REPOSITORY/$2:$3" "$digest"
}

images() {
  local version first=1 postgres edge
  postgres=$(<"$CACHE/parts/postgres-version")
  edge=$(<"$CACHE/parts/edge-version")
  for version in "${SYNAPSE_VERSIONS[@]}"; do
    ((first)) || printf ',\n'
    first=0
    image "synapse-$version" synapse "v$version"
  done
  printf ',\n' && image synapse-broken synapse "v$SYNAPSE_NEWEST-broken"
  printf ',\n' && image synapse-dies synapse "v$SYNAPSE_NEWEST-dies"
  printf ',\n' && image postgres postgres "$postgres"
  printf ',\n' && image postgres-17 postgres "$(<"$CACHE/parts/postgres-17-version")"
  printf ',\n' && image minio minio "$MINIO_RELEASE"
  printf ',\n' && image minio-former minio "$MINIO_FORMER_RELEASE"
  printf ',\n' && image edge edge "$edge"
}

own_engine=false
if grep -qs '^dockerd' "/proc/$(cat "$CACHE/run/dockerd.pid" 2>/dev/null || echo none)/comm"; then own_engine=true; fi
members=$(images)
cat >"$CACHE/testbed.json.new" <<JSON
{
  "cache": "$CACHE",
  "dockerHost": "$DOCKER_HOST",
  "dockerSocket": "${DOCKER_HOST#unix://}",
  "ownEngine": $own_engine,
  "docker": "$(command -v docker)",
  "dockerConfig": "$DOCKER_CONFIG",
  "composePlugin": "$DOCKER_CONFIG/cli-plugins/docker-compose",
  "restic": "$CACHE/bin/restic",
  "registry": "$REGISTRY",
  "images": {
$members
  }
}
JSON
mv "$CACHE/testbed.json.new" "$CACHE/testbed.json"
