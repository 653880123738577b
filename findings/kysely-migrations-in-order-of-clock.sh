#!/usr/bin/env bash
# kysely 0.28.18 (Migrator): a correct history of migrations is called corrupted after the clock of the machine was set back.
# Seen: the first migration is applied, the clock is set back an hour (a virtual machine resumed, NTP corrected), the second is applied. From
# then on `migrateToLatest` fails with "corrupted migrations" although nothing is missing: applied migrations are ordered by the time of day
# at which each was applied, not by the order in which they were. `allowUnorderedMigrations: true` turns this check off.
# Matters to whoever migrates at the start of a server on machines of customers: the server does not start any more.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --ignore-scripts --no-audit --no-fund --silent kysely@0.28.18 @electric-sql/pglite@0.3.14 kysely-pglite-dialect@1.2.0
cat >try.mjs <<'JS'
import { PGlite } from '@electric-sql/pglite'
import { Kysely, Migrator } from 'kysely'
import { PGliteDialect } from 'kysely-pglite-dialect'

const db = new Kysely({ dialect: new PGliteDialect(new PGlite()) })
const table = (name) => ({ up: (on) => on.schema.createTable(name).addColumn('id', 'text').execute() })
const [first, second] = [table('a'), table('b')]
const migrate = async (migrations, options = {}) => {
  const { error, results } = await new Migrator({ db, provider: { getMigrations: async () => migrations }, ...options }).migrateToLatest()
  return error ? `error: ${error.message}` : `applied ${results.length}`
}
console.log('first:', await migrate({ '0001': first }))
const RealDate = Date
globalThis.Date = class extends RealDate {
  constructor(...given) {
    super(...(given.length > 0 ? given : [RealDate.now() - 3_600_000]))
  }
}
console.log('second, an hour earlier:', await migrate({ '0001': first, '0002': second }))
globalThis.Date = RealDate
const again = await migrate({ '0001': first, '0002': second })
console.log('again:', again)
const unordered = await migrate({ '0001': first, '0002': second }, { allowUnorderedMigrations: true })
console.log('again, allowUnorderedMigrations:', unordered)
process.exit(/^error: corrupted migrations/.test(again) && unordered === 'applied 0' ? 0 : 1)
JS
echo "kysely $(node -p "require('./node_modules/kysely/package.json').version")"
node try.mjs
