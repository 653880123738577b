#!/usr/bin/env bash
# oidc-provider.sh: installs a provider of OpenID Connect, which only one test needs, and prints its folder.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"

folder=$CACHE/parts/oidc-provider

oidc_provider() {
  rm -rf "$folder"
  mkdir -p "$folder"
  printf '{"private":true,"dependencies":{"oidc-provider":"%s"}}' "$OIDC_PROVIDER" >"$folder/package.json"
  cd "$folder"
  npm install --ignore-scripts --no-audit --no-fund --omit=dev
}

(once oidc-provider "$OIDC_PROVIDER $(declare -f oidc_provider | sha256sum | cut -c1-16)" oidc_provider) ||
  die "oidc-provider $OIDC_PROVIDER could not be installed. fix: let npm reach a registry that has it, or leave out test/console/company-login.e2e.ts"
echo "$folder"
