#!/usr/bin/env bash
# former-release.sh: builds the programs of the release before this one, whose commit is in test/e2e/former-release, and prints their folder. Without
# the pages of the browser and without a native SQLite: its daemons run on PostgreSQL.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"

repository=$(cd "$TESTBED_DIR/../.." && pwd)
commit=$(<"$TESTBED_DIR/../e2e/former-release")
folder=$CACHE/parts/former-release

former_release() {
  rm -rf "$folder"
  mkdir -p "$folder"
  git -C "$repository" archive "$commit" | tar -x -C "$folder"
  cd "$folder"
  npm ci --prefer-offline
  npx tsc -p tsconfig.build.json --noCheck --declaration false --sourceMap false
  TENANTRY_COMMIT=${commit:0:12} node scripts/stamp-commit.js
}

git -C "$repository" cat-file -e "$commit^{commit}" 2>/dev/null ||
  die "the former release (commit $commit) is not in this clone. fix: git fetch --unshallow"
once former-release "$commit $(declare -f former_release | sha256sum | cut -c1-16)" former_release
echo "$folder"
