#!/usr/bin/env bash
# node:sqlite (Node.js 22 to 26): prepare() takes a text with two statements, runs the first one and ignores the second without an error. A
# missing parameter is bound as NULL in the same silence.
# Seen: "insert …; insert …" inserts one row; "select ?, ?" with one value returns it and null.
# Expected from better-sqlite3, which node:sqlite replaces: an error for both ("more than one statement", "Too few parameter values").
# Matters to migrations: the second half of one is left out, and the migration counts as applied. exec() runs all statements.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > run.cjs <<'JS'
const { DatabaseSync } = require('node:sqlite')
const db = new DatabaseSync(':memory:')
db.exec('create table t (a text)')
db.prepare("insert into t values ('one'); insert into t values ('two')").run()
const [{ rows }] = db.prepare('select count(*) as rows from t').all()
const [{ b }] = db.prepare('select ? as a, ? as b').all(1)
console.log(`${process.version}: ${rows} row, missing parameter: ${b}`)
JS
for version in 22.23.3 26.10.0; do
  npm install --prefix "$version" --no-audit --no-fund --silent "node-linux-$(node -p process.arch)@$version"
  "$version"/node_modules/node-linux-*/bin/node --disable-warning=ExperimentalWarning run.cjs | tee -a seen
done
grep -qx 'v22.23.3: 1 row, missing parameter: null' seen
grep -qx 'v26.10.0: 1 row, missing parameter: null' seen
