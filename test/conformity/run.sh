#!/usr/bin/env bash
# Holds a running daemon against its own /openapi.json (npm run test:conformity). Arguments go to vitest. Installs what it needs once.
set -euo pipefail
cd "$(dirname -- "$0")/../.."
source test/testbed/cache.sh

export TENANTRY_CONFORMITY_TOOLS=$CACHE/parts/conformity

install_tools() {
  rm -rf "$TENANTRY_CONFORMITY_TOOLS"
  python3 -m pip install --target "$TENANTRY_CONFORMITY_TOOLS" --only-binary=:all: --no-deps --requirement test/conformity/requirements.txt
}

python3 -m pip --version >/dev/null 2>&1 || once python3-pip 1 apt-get install -y -q --no-install-recommends python3-pip
once conformity-tools "$(python3 --version) $(hash_of ../conformity/requirements.txt)" install_tools
exec npx vitest run --config vitest.conformity.config.ts "$@"
