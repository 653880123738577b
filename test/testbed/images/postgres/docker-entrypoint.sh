#!/bin/bash
# Prepares an empty PGDATA as library/postgres does, then becomes PostgreSQL: a shell as PID 1 would turn every stop into a crash.
set -euo pipefail

if [[ ${1:0:1} == - ]]; then set -- postgres "$@"; fi
[[ $1 == postgres ]] || exec "$@"

# Read while still root: the file may be readable by root alone.
if [[ -n ${POSTGRES_PASSWORD_FILE:-} ]]; then
  POSTGRES_PASSWORD=$(<"$POSTGRES_PASSWORD_FILE")
  export POSTGRES_PASSWORD
  unset POSTGRES_PASSWORD_FILE
fi
: "${POSTGRES_USER:=postgres}" "${POSTGRES_DB:=$POSTGRES_USER}" "${POSTGRES_PASSWORD:=}" "${POSTGRES_INITDB_ARGS:=}"

if [[ $(id -u) == 0 ]]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  find "$PGDATA" \! -user postgres -exec chown postgres {} +
  chown postgres:postgres /run/postgresql
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi

initialise() {
  if [[ -z $POSTGRES_PASSWORD ]]; then
    echo 'Error: Database is uninitialized and superuser password is not specified.' >&2
    exit 1
  fi
  # Unquoted on purpose: the variable is a list of options.
  # shellcheck disable=SC2086
  initdb --username="$POSTGRES_USER" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") $POSTGRES_INITDB_ARGS
  printf '\nhost all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"

  # Only on the socket, so that nobody who waits for the port meets this temporary server.
  pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
  if [[ $POSTGRES_DB != postgres ]]; then
    psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres -v db="$POSTGRES_DB" <<<'create database :"db";'
  fi
  local file
  for file in /docker-entrypoint-initdb.d/*; do
    case $file in
      *.sh) "$file" ;;
      *.sql) psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" -f "$file" ;;
    esac
  done
  pg_ctl -D "$PGDATA" -m fast -w stop
  echo 'PostgreSQL init process complete; ready for start up.'
}

if [[ ! -s $PGDATA/PG_VERSION ]]; then initialise; fi
exec "$@"
