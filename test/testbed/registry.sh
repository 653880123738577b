#!/usr/bin/env bash
# A registry on loopback, which an engine accepts without TLS. Tags and manifests may be deleted: tests need missing images too.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"

pidfile=$CACHE/run/registry.pid
answers() { curl -fsS --max-time 2 "http://$REGISTRY/v2/" >/dev/null 2>&1; }

if answers; then
  [[ -f $pidfile ]] && kill -0 "$(<"$pidfile")" 2>/dev/null && exit 0
  die "$REGISTRY is taken by another program; set TENANTRY_TESTBED_REGISTRY_PORT"
fi

cat >"$CACHE/run/registry.yml" <<YAML
version: 0.1
log: {level: warn}
storage:
  filesystem: {rootdirectory: $CACHE/registry}
  delete: {enabled: true}
http: {addr: $REGISTRY}
YAML
say "starting the registry on $REGISTRY"
setsid nohup "$CACHE/bin/docker-registry" serve "$CACHE/run/registry.yml" >"$CACHE/log/registry.log" 2>&1 </dev/null &
echo $! >"$pidfile"

for ((i = 0; i < 100; i++)); do
  if answers; then exit 0; fi
  sleep 0.1
done
tail -n 20 "$CACHE/log/registry.log" >&2
die "the registry is not ready after 10 s"
