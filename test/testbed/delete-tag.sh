#!/usr/bin/env bash
# delete-tag.sh <repo> <tag>: takes one tag away. The registry's API deletes a manifest under all its tags, so the tag's own link goes instead.
# The manifest can still be pulled by digest.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"
(($# == 2)) || die 'usage: delete-tag.sh <repo> <tag>'
[[ $1 =~ ^[a-z0-9-]+$ && $2 =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]*$ ]] || die 'not a repository or tag name'
rm -rf "$CACHE/registry/docker/registry/v2/repositories/tenantry/$1/_manifests/tags/$2"
