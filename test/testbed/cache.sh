# shellcheck shell=bash disable=SC2034
# Where things are, and how a thing is built only once. Sourced by every script here.

TESTBED_DIR=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
CACHE=${TENANTRY_TESTBED_CACHE:-/var/cache/tenantry-testbed}
# shellcheck source=versions.sh
source "$TESTBED_DIR/versions.sh"

REGISTRY=127.0.0.1:${TENANTRY_TESTBED_REGISTRY_PORT:-5055}
REPOSITORY=$REGISTRY/tenantry

mkdir -p "$CACHE"/{bin,log,run,stamps,parts}

# The user's own Docker set-up (contexts, credentials, plugins) is neither read nor changed.
export DOCKER_CONFIG=$CACHE/docker-config
if [[ -f $CACHE/run/docker-host ]]; then
  DOCKER_HOST=$(<"$CACHE/run/docker-host")
  export DOCKER_HOST
fi

say() { printf 'testbed: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# once <name> <pin> <command…>: runs the command unless its stamp already says it succeeded with this pin.
# Its output goes to log/<name>.log, which is shown only when it fails.
once() {
  local name=$1 pin=$2 stamp=$CACHE/stamps/$1 log=$CACHE/log/$1.log
  shift 2
  [[ -f $stamp && $(<"$stamp") == "$pin" ]] && return 0
  say "$name …"
  local start=$SECONDS
  # A child shell, since `set -e` is off inside anything that is tested by `if` or `||`.
  if ! (set +e; (set -e; "$@") >"$log" 2>&1); then
    tail -n 30 "$log" >&2
    die "$name failed; all of its output is in $log"
  fi
  printf '%s' "$pin" >"$stamp"
  say "$name: $((SECONDS - start)) s"
}

# The mirror this machine's own apt uses, for the suites that it does not know.
debian_mirror() {
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Codename: $DEBIAN_SUITE" | head -n 1)
  echo "${mirror:?apt knows no mirror: run apt-get update, or it has no source for Debian $DEBIAN_SUITE}"
}

# A hash of files in this folder, so that an edited Dockerfile or entrypoint is a new pin.
hash_of() { (cd "$TESTBED_DIR" && find "$@" -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16); }
