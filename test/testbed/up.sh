#!/usr/bin/env bash
# The one command: engine, registry, images, testbed.json. Idempotent; what was built before is reused.
# Needs root on Debian 12, apt and (for the first run) Go, pip and the package registries.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"
((EUID == 0)) || die 'must be root: it runs a Docker engine'
step() { bash "$TESTBED_DIR/$1" "${@:2}"; }

# Two test runs that start together share one test bed.
exec 9>"$CACHE/run/up.lock"
flock 9

# The engine and the registry must not inherit the lock.
step tools.sh 9>&-
step engine.sh 9>&-
DOCKER_HOST=$(<"$CACHE/run/docker-host")
export DOCKER_HOST
step registry.sh 9>&-

# The compiler takes the longest by far and the rest mostly waits for the network, so they run side by side.
{ step parts.sh minio && step parts.sh minio-former; } & parts=($!)
for version in "${SYNAPSE_VERSIONS[@]}"; do step parts.sh synapse "$version" & parts+=($!); done
step parts.sh base
step parts.sh machine & parts+=($!)
step parts.sh postgres-17 & parts+=($!)
step images.sh postgres
step images.sh edge
for part in "${parts[@]}"; do wait "$part"; done

step images.sh postgres-17
step images.sh minio
step images.sh minio-former
for version in "${SYNAPSE_VERSIONS[@]}"; do step images.sh synapse "$version"; done
step images.sh broken
step images.sh dies
step describe.sh
say "ready: $CACHE/testbed.json"
