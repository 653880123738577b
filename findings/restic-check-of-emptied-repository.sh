#!/usr/bin/env bash
# restic 0.18.0: `restic check` finds nothing wrong with a repository that has lost everything but its configuration and keys.
# Seen: after all snapshots, indexes and packs of a repository with one snapshot are gone (a half-restored disk, a bad lifecycle rule of a
# bucket), `check` and `check --read-data` print "no errors were found" and exit with 0: nothing is left that could be wrong.
# Matters to whoever takes a green check for "my backups are there": also compare the list of snapshots with the one that is expected.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
GOPATH=$folder/go GOBIN=$folder/bin GOFLAGS=-mod=mod go install github.com/restic/restic/cmd/restic@v0.18.0
export RESTIC_PASSWORD=a-password RESTIC_REPOSITORY=$folder/repository RESTIC_CACHE_DIR=$folder/cache
restic=$folder/bin/restic
"$restic" version
"$restic" init >/dev/null
mkdir data && echo 'a file' >data/file
"$restic" backup data >/dev/null
"$restic" check >/dev/null
find repository -type f ! -name config ! -path '*/keys/*' -delete
for options in '' --read-data; do
  code=0
  # shellcheck disable=SC2086
  said=$("$restic" check $options 2>&1) || code=$?
  printf 'check %s: exit %s: %s\n' "$options" "$code" "$(tail -n 1 <<<"$said")"
  [ "$code" -eq 0 ] && grep -q 'no errors were found' <<<"$said"
done
[ "$("$restic" snapshots --json)" = '[]' ]
