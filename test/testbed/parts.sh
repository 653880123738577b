#!/usr/bin/env bash
# parts.sh base | postgres-17 | machine | minio | minio-former | synapse <version>: what goes into the images, made on the host, since a container here has no way out to package indexes.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"

# One root for all images, so that its layer is stored and pushed once. Paths that no test reads make up half of it.
base() {
  local root=$CACHE/parts/base-root mirror
  mirror=$(debian_mirror)
  rm -rf "$root"
  debootstrap --variant=minbase --include=ca-certificates,curl,python3,postgresql-15,nginx-light "$DEBIAN_SUITE" "$root" "$mirror"
  # The ids of the official images: a volume filled by one is readable by the other.
  chroot "$root" groupmod -g 999 postgres
  chroot "$root" usermod -u 999 postgres
  chroot "$root" chown -R postgres:postgres /var/lib/postgresql
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale,i18n,info}/* \
    "$root"/usr/lib/x86_64-linux-gnu/libLLVM* "$root"/usr/lib/postgresql/15/lib/bitcode "$root"/usr/lib/postgresql/15/lib/llvmjit* \
    "$root"/var/lib/postgresql/15 "$root"/var/log/* "$root"/etc/nginx/sites-enabled/*
  mkdir -p "$root"/var/log/nginx
  chroot "$root" dpkg-query -W -f '${source:Upstream-Version}' postgresql-15 >"$CACHE/parts/postgres-version"
  chroot "$root" dpkg-query -W -f '${source:Upstream-Version}' nginx >"$CACHE/parts/edge-version"
  tar -C "$root" --sort=name --exclude=./dev --exclude=./proc --exclude=./sys -cf - . | docker import - tenantry-testbed/base
  rm -rf "$root"
}

# PostgreSQL 17 alone. Without LLVM, which makes up a third of it.
postgres_17() {
  local mirror
  mirror=$(debian_mirror)
  mmdebstrap --variant=minbase --include=postgresql-17 \
    --dpkgopt=path-exclude='/usr/share/doc/*' --dpkgopt=path-exclude='/usr/share/man/*' --dpkgopt=path-exclude='/usr/share/locale/*' \
    --dpkgopt=path-exclude='/usr/share/i18n/*' --dpkgopt=path-exclude='/usr/lib/x86_64-linux-gnu/libLLVM*' \
    --dpkgopt=path-exclude='/usr/lib/postgresql/17/lib/bitcode/*' --dpkgopt=path-exclude='/usr/lib/postgresql/17/lib/llvmjit*' \
    --customize-hook='chroot "$1" groupmod -g 999 postgres' --customize-hook='chroot "$1" usermod -u 999 postgres' \
    --customize-hook='chroot "$1" chown -R postgres:postgres /var/lib/postgresql' --customize-hook='rm -rf "$1"/var/lib/postgresql/17' \
    --customize-hook="chroot \"\$1\" dpkg-query -W -f '\${source:Upstream-Version}' postgresql-17 >'$CACHE/parts/postgres-17-version'" \
    --skip=cleanup/reproducible --skip=output/dev "$DEBIAN_NEXT_SUITE" - "$mirror" | docker import - tenantry-testbed/postgres-17-base
}

# A whole Debian with systemd and an engine of its own, on which the shipped units are tried. Node.js, compose, restic and the registry come from here.
# Not from the root of `base`, whose servers would start with it.
machine() {
  local mirror
  mirror=$(debian_mirror)
  mmdebstrap --variant=minbase --include=systemd,systemd-sysv,dbus,docker.io,iptables,iproute2,procps,openssl,curl,ca-certificates,libstdc++6 \
    --dpkgopt=path-exclude='/usr/share/doc/*' --dpkgopt=path-exclude='/usr/share/man/*' --dpkgopt=path-exclude='/usr/share/locale/*' \
    --customize-hook='rm "$1"/etc/systemd/system/multi-user.target.wants/e2scrub_reap.service' \
    --skip=cleanup/reproducible --skip=output/dev "$DEBIAN_SUITE" - "$mirror" | docker import - tenantry-testbed/machine
}

# minio <folder> <module> <release>
minio() {
  local bin=$1 module=$2 release=$3 time=${3#RELEASE.}
  # Unless told, a build from source calls itself DEVELOPMENT.
  local set=github.com/minio/minio/cmd
  GOBIN=$bin CGO_ENABLED=0 go install -trimpath -ldflags "-s -w
    -X $set.ReleaseTag=$release -X $set.Version=$(sed -E 's/T(..)-(..)-(..)Z/T\1:\2:\3Z/' <<<"$time")
    -X $set.CommitID=${module##*-} -X $set.ShortCommitID=${module##*-}" "$module"
  "$bin/minio" --version
}

# The lock file beside the image's Dockerfile pins what Synapse itself leaves open.
synapse() {
  local site=$CACHE/parts/synapse-$1 lock=$TESTBED_DIR/images/synapse/lock-$1.txt
  rm -rf "$site"
  python3 -m pip install --target "$site" --no-compile --only-binary=:all: --python-version "$PYTHON_ABI" \
    --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 --no-deps --requirement "$lock"
  rm -rf "${site:?}/bin"
}

# An engine that was pruned has lost it: nothing is pushed.
if [[ ${1:-} == machine ]] && ! docker image inspect tenantry-testbed/machine >/dev/null 2>&1; then rm -f "$CACHE/stamps/machine"; fi

case ${1:-} in
  base) once base "$DEBIAN_SUITE $(declare -f base | sha256sum | cut -c1-16)" base ;;
  postgres-17) once postgres-17 "$DEBIAN_NEXT_SUITE $(declare -f postgres_17 | sha256sum | cut -c1-16)" postgres_17 ;;
  machine) once machine "$DEBIAN_SUITE $(declare -f machine | sha256sum | cut -c1-16)" machine ;;
  minio) once minio "$MINIO_MODULE $MINIO_RELEASE" minio "$CACHE/bin" "$MINIO_MODULE" "$MINIO_RELEASE" ;;
  minio-former) once minio-former "$MINIO_FORMER_MODULE $MINIO_FORMER_RELEASE" minio "$CACHE/bin/former" "$MINIO_FORMER_MODULE" "$MINIO_FORMER_RELEASE" ;;
  synapse) once "synapse-$2" "$(hash_of "images/synapse/lock-$2.txt")" synapse "$2" ;;
  *) die 'usage: parts.sh base | postgres-17 | machine | minio | minio-former | synapse <version>' ;;
esac
