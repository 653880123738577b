#!/bin/sh
# `server /data` and `minio server /data` are the same; the server reads the *_FILE variables itself.
set -eu
if [ "${1:-}" != minio ]; then set -- minio "$@"; fi
exec "$@"
