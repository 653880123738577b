#!/bin/sh
# Run once by the image, on an empty volume. Synapse and the agent work as the database's owner, who is no superuser. The superuser
# has no password, so it cannot log in over the network: only the agent uses it, from inside this container, to create or drop the database of a restore.
set -eu
psql -X -q -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres <<SQL
create role synapse login nosuperuser nocreatedb nocreaterole noreplication password '$POSTGRES_PASSWORD';
create database synapse owner synapse template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C';
alter role current_user password null;
SQL
