import { setMaxListeners } from 'node:events'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { manualClock } from '../../../src/core/kit/index.ts'
import { compose } from '../../../src/daemon/app/index.ts'
import { importManifest, loadBoxMigrations } from '../../../src/daemon/boxes/index.ts'
import { loadConfig } from '../../../src/daemon/config/index.ts'
import { namedSeries } from '../../../src/daemon/service/index.ts'
import { packageRoot, silentLogger, systemRandom } from '../../../src/node/index.ts'
import { aKeyring } from '../../support/admin-world.ts'
import { emptyDatabase } from '../../support/databases.ts'
import { growRegistry } from '../../support/grown-registry.ts'
import { roleBook } from '../../support/sessions-world.ts'
import { synapseSchemas } from '../../support/synapse-schemas.ts'
import { type Overheard, overhear } from '../../support/whole-reads.ts'

// What a daemon does without being asked costs the same however many tenants, users and boxes there are: nothing that goes on by itself reads a
// table from end to end, but for what is named here with its reason.

/** Once an hour or more seldom, of thousands that are few columns wide; or what is counted is just what is waited for. */
const allowedAtRest: readonly string[] = [
  'rollouts', // counted by status at a scrape: some a week
  'hosts', // counted by standing at a scrape, without what they said
  'jobs', // what waits, by topic
  'job_queues',
  'boxes', // counted along indexes, whose entries are as short as the answer
  'snapshots', // the newest of each box, along an index
  'snapshot_repositories', // the lost ones, while snapshots are overdue: one short row a tenant
  'snapshot_drills',
  'box_restores',
]

/** What a job is about. Each reads this, and nothing else, from one end to the other. */
const aboutAll: Readonly<Record<string, readonly string[]>> = {
  'tenant-box-drift-detection': ['boxes', 'hosts', 'tenants'],
  'tenant-box-version-sync': ['boxes', 'hosts'],
  'box-certificates': ['boxes'],
  'box-removal': ['box_moves', 'box_removals'],
  'snapshot-daily': ['boxes', 'snapshots', 'snapshot_repositories', 'box_restores'], // also whose data was replaced
  'snapshot-prune': ['snapshots'],
  'snapshot-check': ['snapshots', 'snapshot_repositories', 'boxes', 'snapshot_drills', 'box_restores'], // also which box was proven long ago
  'snapshot-drill': ['boxes', 'snapshots', 'snapshot_drills', 'box_restores'],
  housekeeping: ['leases', 'rollouts', 'jobs'],
}

/** A job asks for at most so many boxes or tenants with one statement; the fewer statements, the more are asked for at once. */
const [boxes, atOnce] = [2000, 200]

const words = ({ table, said }: { table: string; said: string }) => `${table}: ${said}`

describe.each(['sqlite', 'postgres'] as const)('on %s, in a registry that has grown', (dialect) => {
  const clock = manualClock()
  const stop = new AbortController()
  let overheard: Overheard
  let deps: Parameters<typeof compose>[0]

  beforeAll(async () => {
    setMaxListeners(0, stop.signal)
    const { db } = await emptyDatabase(dialect)
    const migrations = await loadBoxMigrations(packageRoot('config/box-migrations'))
    await importManifest({ db, clock, migrations }, await readFile(packageRoot('config/manifest.yaml'), 'utf8'))
    await growRegistry(db, dialect)
    overheard = overhear(db, dialect)
    const dataDir = await mkdtemp(join(tmpdir(), 'tenantry-at-rest-'))
    const env = {
      TENANTRY_DATA_DIR: dataDir,
      TENANTRY_BACKUP_KEY: Buffer.alloc(32, 1).toString('base64'),
      TENANTRY_SNAPSHOT_STORE: `file:${dataDir}`,
    }
    const base = { db: overheard.db, clock, random: systemRandom, log: silentLogger(), keyring: aKeyring() }
    deps = { ...base, config: loadConfig({ env }), migrations, schemas: synapseSchemas, roles: roleBook, draining: stop.signal }
    return async () => {
      stop.abort()
      await db.destroy()
    }
  })

  test('a daemon starts, looks around once and is scraped without reading a table from end to end', async () => {
    let named = ''
    const { wholeReads, statements } = await overheard.during(async () => {
      const leaving = new AbortController()
      setMaxListeners(0, leaving.signal)
      const { begin, loops, metrics } = await compose({ ...deps, draining: leaving.signal })
      const running = begin()
      while (clock.sleepers() < loops.length) await new Promise((turn) => setImmediate(turn))
      await metrics.registry.metrics()
      const { boxes, agents } = deps.config
      const times = { staleAfterMs: boxes.staleAfterMs, offlineAfterMs: agents.offlineAfterMs }
      for await (const part of namedSeries({ ...deps, ...times, maxBoxes: 10_000 })) named += part
      leaving.abort()
      await Promise.all(running)
    })
    expect(wholeReads.filter(({ table }) => !allowedAtRest.includes(table)).map(words)).toEqual([])
    expect(named.match(/^tenantry_box_up\{/gm)).toHaveLength(2000)
    expect(statements).toBeGreaterThan(50)
    expect(statements).toBeLessThan(500)
  })

  test('a job reads whole only what it is about, and asks for many at once', async () => {
    const { crons } = await compose(deps)
    // Asks the chat server of every tenant about every space: what it reads is the least of it.
    for (const job of crons.filter(({ key }) => key !== 'space-reconcile')) {
      const { wholeReads, statements } = await overheard.during(() => job.run({ signal: stop.signal }))
      const unexpected = wholeReads.filter(({ table }) => !aboutAll[job.key]?.includes(table))
      expect({ job: job.key, unexpected: unexpected.map(words) }).toEqual({ job: job.key, unexpected: [] })
      // Housekeeping needs one statement for each kind of old rows.
      expect({ job: job.key, isSparing: statements <= 40 + boxes / atOnce, statements }).toMatchObject({ isSparing: true })
    }
  })
})
