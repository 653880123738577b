#!/usr/bin/env bash
# The engine's packages from the host's own Debian, and what bookworm lacks from trixie, unpacked into the cache.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"

# The package that brings each command; a Docker CLI that is already there is left as it is.
declare -A PACKAGE_OF=([dockerd]=docker.io [docker]=docker.io [iptables]=iptables [debootstrap]=debootstrap [mmdebstrap]=mmdebstrap [curl]=curl [python3]=python3
  [nginx]=nginx-light [haproxy]=haproxy [openssl]=openssl [redis-server]=redis-server [chromium]=chromium
  [prometheus]=prometheus)

missing_packages() {
  local command
  for command in "${!PACKAGE_OF[@]}"; do
    command -v "$command" >/dev/null || echo "${PACKAGE_OF[$command]}"
  done | sort -u
  if ! python3 -m pip --version >/dev/null 2>&1; then echo python3-pip; fi
}

# A service started by the package would take the default socket and an image store of its own: dockerd is started by hand.
engine_packages() {
  local policy=/usr/sbin/policy-rc.d
  if [[ ! -e $policy ]]; then
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod 755 $policy
  fi
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

# Private lists and caches, so that the machine's own apt never hears of trixie.
trixie_packages() {
  local work=$CACHE/parts/trixie mirror
  mirror=$(debian_mirror)
  rm -rf "$work"
  mkdir -p "$work"/{lists/partial,debs,unpacked}
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$work/sources.list"
  local apt=(apt-get -q
    -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
  "${apt[@]}" update
  (cd "$work/debs" && "${apt[@]}" download "$TRIXIE_COMPOSE" "$TRIXIE_RESTIC" "$TRIXIE_REGISTRY")
  local deb
  for deb in "$work"/debs/*.deb; do dpkg -x "$deb" "$work/unpacked"; done
  install -D -m 755 "$work/unpacked/usr/libexec/docker/cli-plugins/docker-compose" "$CACHE/docker-config/cli-plugins/docker-compose"
  install -m 755 "$work/unpacked/usr/bin/restic" "$work/unpacked/usr/bin/docker-registry" "$CACHE/bin/"
  rm -rf "$work"
  "$CACHE/bin/restic" version
  "$CACHE/docker-config/cli-plugins/docker-compose" version
}

# Debian's own is too old to build MinIO and to fetch a newer toolchain by itself.
command -v go >/dev/null || [[ -f $CACHE/stamps/minio && -f $CACHE/stamps/minio-former && -f $CACHE/stamps/stripe-mock ]] || die 'Go 1.21 or newer is needed for the first run'

mapfile -t missing < <(missing_packages)
if ((${#missing[@]})); then
  rm -f "$CACHE/stamps/engine-packages"
  once engine-packages 1 engine_packages "${missing[@]}"
fi
# A fresh machine may have no lists yet, and those name the mirror.
if [[ ! -f $CACHE/stamps/trixie-packages ]]; then once apt-lists "$(date +%F)" apt-get update -q; fi
once trixie-packages "$TRIXIE_COMPOSE $TRIXIE_RESTIC $TRIXIE_REGISTRY" trixie_packages

stripe_mock() { GOBIN=$CACHE/bin CGO_ENABLED=0 go install -trimpath -ldflags '-s -w' "$STRIPE_MOCK_MODULE"; }

[[ -x $CACHE/bin/stripe-mock ]] || rm -f "$CACHE/stamps/stripe-mock"
once stripe-mock "$STRIPE_MOCK_MODULE" stripe_mock
