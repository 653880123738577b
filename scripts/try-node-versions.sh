#!/usr/bin/env bash
# Installs this checkout, runs the demo, a part of the tests and the packages on other versions of Node.js, which come from the npm package `node`.
# A release needs it: `scripts/try-node-versions.sh`, or `scripts/try-node-versions.sh 24.21.0` for one. About 5 minutes each, and the test bed.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- 22 24 26

folder=$(mktemp -d)
# PostgreSQL of the tests runs as another user.
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT
failed=0

try() (
  set -e
  mkdir "$folder/$1" "$folder/$1/checkout"
  # Only the package of this platform: `node` itself downloads it with an install script.
  npm install --silent --prefix "$folder/$1" "node-linux-$(node -p process.arch)@$1"
  PATH="$(echo "$folder/$1"/node_modules/node-linux-*/bin):$PATH"
  echo "== Node.js $(node --version), SQLite $(node -p 'process.versions.sqlite')"
  git ls-files -z | xargs -0 tar -c --ignore-failed-read | tar -x -C "$folder/$1/checkout"
  cd "$folder/$1/checkout"
  npm ci --prefer-offline
  npm run setup
  npm run demo -- --exit
  npx vitest run test/daemon/db test/daemon/program/backup.test.ts test/agent/program test/cli/kit
  npx vitest run --config vitest.e2e.config.ts test/e2e/package.e2e.ts
)

for version in "$@"; do
  # As a condition of `||`, a failed command would not end it.
  set +e
  try "$version" >"$folder/log" 2>&1
  code=$?
  set -e
  if [ "$code" -eq 0 ]; then
    grep '^== ' "$folder/log"
  else
    failed=1
    echo "FAILED on Node.js $version:"
    tail -n 60 "$folder/log"
  fi
  rm -rf "${folder:?}/$version"
done
exit "$failed"
