#!/usr/bin/env bash
# A Docker engine of the test bed's own, with image store and state in the cache. Where an engine already answers at the default socket that one is used:
# a second dockerd would flush the first one's iptables chains.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"

pidfile=$CACHE/run/dockerd.pid

ours_runs() { [[ -f $pidfile ]] && grep -qs dockerd "/proc/$(<"$pidfile")/comm"; }
answers() { docker version >/dev/null 2>&1; }

if ours_runs && answers; then exit 0; fi

socket=/var/run/docker.sock
export DOCKER_HOST=unix://$socket
echo "$DOCKER_HOST" >"$CACHE/run/docker-host"
if [[ -S $socket ]] && answers; then
  say "using the engine that answers on $socket"
  exit 0
fi

rm -f "$pidfile"
# Of an engine that was killed hard, the id of its containerd stays behind; once another program has that id, dockerd would take it for a containerd that
# still runs, start none, and wait for it in vain.
containerd_pidfile=$CACHE/run/docker-exec/containerd/containerd.pid
grep -qs '^containerd$' "/proc/$(cat "$containerd_pidfile" 2>/dev/null || echo none)/comm" || rm -f "$containerd_pidfile"
say "starting dockerd on $socket"
# What the last one said is kept: a hang is looked into after the engine was stopped.
[[ ! -f $CACHE/log/dockerd.log ]] || mv "$CACHE/log/dockerd.log" "$CACHE/log/dockerd.log.1"
# setsid: it outlives the shell that started it, and Ctrl-C there does not reach it.
setsid nohup dockerd \
  --host "$DOCKER_HOST" --pidfile "$pidfile" \
  --data-root "$CACHE/docker" --exec-root "$CACHE/run/docker-exec" \
  >"$CACHE/log/dockerd.log" 2>&1 </dev/null &

for ((i = 0; i < 300; i++)); do
  if answers; then exit 0; fi
  sleep 0.1
done
tail -n 20 "$CACHE/log/dockerd.log" >&2
die "dockerd is not ready after 30 s"
