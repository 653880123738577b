#!/usr/bin/env bash
# node:sqlite of Node.js 22 (newest: 22.23.3) cuts a text at its first NUL when it reads it, and returns the former columns of `select *` from a
# statement that was prepared before an `alter table`. Node.js 24 and 26 do neither, better-sqlite3 neither on any version.
# Seen: 'a\0b' is stored with 3 bytes and read as 'a'; after `alter table t add column n`, the same statement returns rows without n.
# Expected: what was stored, and all columns, as sqlite3_step() prepares a statement again when the schema changed.
# Matters to whoever moves from better-sqlite3 or caches statements: data is lost in silence on a supported LTS version.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > run.cjs <<'JS'
const { DatabaseSync } = require('node:sqlite')
const db = new DatabaseSync(':memory:')
db.exec('create table t (a text)')
db.prepare('insert into t values (?)').run('a\0b')
const all = db.prepare('select * from t')
const [{ a }] = all.all()
const [{ bytes }] = db.prepare('select length(cast(a as blob)) as bytes from t').all()
db.exec('alter table t add column n integer')
console.log(`${process.version}: ${bytes} bytes stored, ${a.length} read; columns after alter: ${Object.keys(all.all()[0])}`)
JS
for version in 22.23.3 26.10.0; do
  npm install --prefix "$version" --no-audit --no-fund --silent "node-linux-$(node -p process.arch)@$version"
  "$version"/node_modules/node-linux-*/bin/node --disable-warning=ExperimentalWarning run.cjs | tee -a seen
done
grep -qx 'v22.23.3: 3 bytes stored, 1 read; columns after alter: a' seen
grep -qx 'v26.10.0: 3 bytes stored, 3 read; columns after alter: a,n' seen
