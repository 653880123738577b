#!/usr/bin/env bash
# Builds each image once and pushes it; the tag and the OCI label are the version.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"

# The classic builder needs no plugin, and a newer CLI still speaks it.
export DOCKER_BUILDKIT=0

# A test may have pruned the engine; the registry still has what was pushed.
has() { docker image inspect "$1" >/dev/null 2>&1; }

# build_and_push <repo> <tag> <context folder>: the context is a scratch copy, so that parts can be laid in it without touching the repo.
build_and_push() {
  local repo=$1 tag=$2 context=$3 ref=$REPOSITORY/$1:$2
  has tenantry-testbed/base || { rm -f "$CACHE/stamps/base"; bash "$TESTBED_DIR/parts.sh" base; }
  docker build --quiet --label "org.opencontainers.image.version=$tag" --label "org.opencontainers.image.title=$repo" --tag "$ref" "$context"
  docker push "$ref"
}

context_of() {
  local context
  context=$(mktemp -d "$CACHE/parts/context.XXXXXX")
  cp -a "$TESTBED_DIR/images/$1/." "$context/"
  echo "$context"
}

synapse() {
  local version=$1 context
  context=$(context_of synapse)
  cp -al "$CACHE/parts/synapse-$version" "$context/site"
  build_and_push synapse "v$version" "$context"
  if [[ $version == "$SYNAPSE_NEWEST" ]]; then docker tag "$REPOSITORY/synapse:v$version" tenantry-testbed/synapse-newest; fi
  rm -rf "$context"
}

synapse_variant() {
  if ! has tenantry-testbed/synapse-newest; then
    docker pull "$REPOSITORY/synapse:v$SYNAPSE_NEWEST"
    docker tag "$REPOSITORY/synapse:v$SYNAPSE_NEWEST" tenantry-testbed/synapse-newest
  fi
  build_and_push synapse "v$SYNAPSE_NEWEST-$1" "$TESTBED_DIR/images/synapse-$1"
}

postgres_17() {
  local context
  has tenantry-testbed/postgres-17-base || { rm -f "$CACHE/stamps/postgres-17"; bash "$TESTBED_DIR/parts.sh" postgres-17; }
  context=$(context_of postgres-17)
  cp "$TESTBED_DIR/images/postgres/docker-entrypoint.sh" "$context/"
  build_and_push postgres "$1" "$context"
  rm -rf "$context"
}

# minio <binary> <release>
minio() {
  local context
  context=$(context_of minio)
  ln "$1" "$context/minio"
  build_and_push minio "$2" "$context"
  rm -rf "$context"
}

base_pin=$(<"$CACHE/stamps/base")
pin() { echo "$REPOSITORY $base_pin $*"; }
postgres_version=$(<"$CACHE/parts/postgres-version")
edge_version=$(<"$CACHE/parts/edge-version")

case ${1:-} in
  postgres) once image-postgres "$(pin "$postgres_version" "$(hash_of images/postgres)")" build_and_push postgres "$postgres_version" "$TESTBED_DIR/images/postgres" ;;
  postgres-17)
    postgres_17_version=$(<"$CACHE/parts/postgres-17-version")
    once image-postgres-17 "$(pin "$postgres_17_version" "$(<"$CACHE/stamps/postgres-17")" "$(hash_of images/postgres-17 images/postgres/docker-entrypoint.sh)")" postgres_17 "$postgres_17_version"
    ;;
  edge) once image-edge "$(pin "$edge_version" "$(hash_of images/edge)")" build_and_push edge "$edge_version" "$TESTBED_DIR/images/edge" ;;
  minio) once image-minio "$(pin "$MINIO_RELEASE" "$(hash_of images/minio)")" minio "$CACHE/bin/minio" "$MINIO_RELEASE" ;;
  minio-former) once image-minio-former "$(pin "$MINIO_FORMER_RELEASE" "$(hash_of images/minio)")" minio "$CACHE/bin/former/minio" "$MINIO_FORMER_RELEASE" ;;
  synapse) once "image-synapse-$2" "$(pin "$(hash_of images/synapse/Dockerfile images/synapse/start.py "images/synapse/lock-$2.txt")")" synapse "$2" ;;
  broken | dies) once "image-synapse-$1" "$(pin "$(hash_of images/synapse/Dockerfile images/synapse/start.py "images/synapse/lock-$SYNAPSE_NEWEST.txt" "images/synapse-$1")")" synapse_variant "$1" ;;
  *) die 'usage: images.sh postgres | postgres-17 | edge | minio | minio-former | synapse <version> | broken | dies' ;;
esac
