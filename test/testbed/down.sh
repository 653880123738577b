#!/usr/bin/env bash
# Stops what up.sh started: containers first, then engine and registry. The cache stays, so the next up.sh is quick.
# down.sh --containers removes containers, volumes and networks only, and leaves engine and registry running.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"

remove_containers() {
  local ids
  mapfile -t ids < <(docker ps --all --quiet)
  if ((${#ids[@]})); then docker rm --force --volumes "${ids[@]}" >/dev/null; fi
  mapfile -t ids < <(docker volume ls --quiet)
  if ((${#ids[@]})); then docker volume rm "${ids[@]}" >/dev/null; fi
  docker network prune --force >/dev/null
}

# stop <pidfile> <name the process must have>: by id, and only if the id is still that program's.
stop() {
  local pidfile=$1 name=$2 pid
  [[ -f $pidfile ]] || return 0
  pid=$(<"$pidfile")
  if grep -qs "^$name" "/proc/$pid/comm"; then
    kill "$pid"
    for ((i = 0; i < 300; i++)); do [[ -d /proc/$pid ]] || break; sleep 0.1; done
  fi
  rm -f "$pidfile"
}

# Never against an engine that is not ours.
if grep -qs '^dockerd' "/proc/$(cat "$CACHE/run/dockerd.pid" 2>/dev/null || echo none)/comm"; then remove_containers; fi
[[ ${1:-} == --containers ]] && exit 0
stop "$CACHE/run/dockerd.pid" dockerd
stop "$CACHE/run/registry.pid" docker-registry
rm -f "$CACHE/testbed.json"
