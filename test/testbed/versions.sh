# shellcheck shell=bash disable=SC2034
# Every version the test bed downloads or builds. Sourced, never run.
# A changed pin rebuilds only what depends on it: each build's stamp contains its pins.

DEBIAN_SUITE=bookworm
# The PostgreSQL of the next major comes from the next Debian, and so has another C library and another ICU.
DEBIAN_NEXT_SUITE=trixie

# From Debian trixie, unpacked into the cache: bookworm's are too old or missing. The trailing * leaves the Debian revision open, since the archive keeps only the newest.
TRIXIE_COMPOSE='docker-compose=2.26.1*'
TRIXIE_RESTIC='restic=0.18.0*'
TRIXIE_REGISTRY='docker-registry=2.8.3*'

# 1.97.0 is the newest that a later schema locks out; 1.157.1 and 1.163.2 accept each other's databases.
SYNAPSE_VERSIONS=(1.157.1 1.163.2 1.97.0)
SYNAPSE_NEWEST=1.163.2
PYTHON_ABI=3.11 # bookworm's, the one the wheels are chosen for

# The module proxy serves MinIO by commit; the release time is that commit's.
MINIO_MODULE=github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c
MINIO_RELEASE=RELEASE.2026-02-12T20-18-48Z
# An older release, for updates of the object store and their rollback.
MINIO_FORMER_MODULE=github.com/minio/minio@v0.0.0-20250907161309-07c3a429bfed
MINIO_FORMER_RELEASE=RELEASE.2025-09-07T16-13-09Z

# Checks the shape of every call to the payment provider.
STRIPE_MOCK_MODULE=github.com/stripe/stripe-mock@v0.203.0

# The automation tool of docs/automation.md, and the Node.js that it runs on. Installed by n8n.sh, for its own test alone.
N8N_VERSION=2.41.1
N8N_NODE=24.18.0

# A provider of logins by OpenID Connect. Installed by oidc-provider.sh, for its own test alone.
OIDC_PROVIDER=8.8.1
