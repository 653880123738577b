#!/usr/bin/env bash
# render-by-hand.sh <folder> <slug> <first port> [synapse image key]
# Lays a box out as an operator would without an agent: fresh secrets, the template's files, and box.json with what a test needs to know.
# Ports: public, platform and probe listener are the first port and the two after it. Image keys are those of testbed.json.
# Starts nothing: `docker compose -f <folder>/compose.yaml up -d` does.
set -euo pipefail
source "$(dirname -- "$0")/cache.sh"
(($# >= 3)) || die 'usage: render-by-hand.sh <folder> <slug> <first port> [synapse image key]'

folder=$1 slug=$2 port=$3 synapse=${4:-synapse-1.157.1}
template=$TESTBED_DIR/../../config/box-template
[[ ! -e $folder/compose.yaml ]] || die "$folder holds a box already"

image() { sed -n "s|^ *\"$1\": .*\"ref\": \"\([^\"]*\)\".*|\1|p" "$CACHE/testbed.json"; }
secret() { openssl rand -hex 24; }

declare -A value=(
  [project]=box-$slug [slug]=$slug [boxId]=$(</proc/sys/kernel/random/uuid)
  [imageEdge]=$(image edge) [imageSynapse]=$(image "$synapse") [imagePostgres]=$(image postgres) [imageMinio]=$(image minio)
  [volumePostgres]=box-$slug-postgres [volumeMedia]=box-$slug-media [volumeObjects]=box-$slug-objects
  [publicBind]=127.0.0.1 [publicPort]=$port [platformBind]=127.0.0.1 [platformPort]=$((port + 1)) [probePort]=$((port + 2))
  [publicUrl]=http://127.0.0.1:$port [chatDomain]=$slug.test [chatDomainPattern]=$slug'\.test'
  [maxUploadMegabytes]=50
  [edgeSecret]=$(secret) [postgresPassword]=$(secret) [minioRootUser]=box-$slug [minioRootPassword]=$(secret)
  [macaroonSecret]=$(secret) [formSecret]=$(secret) [registrationSharedSecret]=$(secret)
  [appserviceToken]=$(secret) [homeserverToken]=$(secret)
  [signingKeyId]=a_$(openssl rand -hex 2) [signingKeySeed]=$(openssl rand -base64 32 | tr -d '=')
)
[[ -n ${value[imageSynapse]} ]] || die "testbed.json has no image '$synapse'"

render() {
  local text name
  text=$(<"$1")
  for name in "${!value[@]}"; do text=${text//"{{$name}}"/"${value[$name]}"}; done
  printf '%s\n' "$text"
}

umask 077
mkdir -p "$folder/edge/fence"
while IFS= read -r file; do
  mkdir -p "$(dirname -- "$folder/$file")"
  render "$template/$file" >"$folder/$file"
done < <(cd "$template" && find . -type f ! -name README.md)

# nginx's workers must be able to see the fence, and PostgreSQL's own user what it begins with; Synapse reads its folder as uid 991; the rest is read by root before a container drops it.
chmod 755 "$folder/edge/fence" "$folder/postgres/init" "$folder"/postgres/init/*
chown -R 991:991 "$folder/synapse"

{
  echo '{'
  echo "  \"folder\": \"$folder\","
  for name in project slug boxId publicUrl publicPort platformPort probePort chatDomain imageSynapse \
    volumePostgres volumeMedia volumeObjects edgeSecret postgresPassword minioRootUser minioRootPassword appserviceToken; do
    echo "  \"$name\": \"${value[$name]}\","
  done
  echo "  \"registrationSharedSecret\": \"${value[registrationSharedSecret]}\""
  echo '}'
} >"$folder/box.json"
say "box $slug is laid out in $folder"
