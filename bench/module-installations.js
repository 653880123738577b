import { readdirSync } from 'node:fs'
import { openDatabase } from '../dist/daemon/db/index.js'
import { cpuSeconds, residentBytes, startDaemon, wait } from './daemon-process.js'
import { seedModules } from './module-seed.js'
import { seedSchools } from './school-seed.js'
import { sized } from './size.js'

const [port, tenants] = [18_462, 10_000]
const most = { bytes: 20e6, cpu: 0.05 }
const settleMs = sized(20_000, 500)
const school = { tenants, usersPerTenant: 0, spacesPerUser: 0, tasksPerUser: 0 }
const tenantId = (n) => `ten_${String(n).padStart(8, '0')}${'0'.repeat(18)}`

/** Memory and CPU time of an idle daemon with 10,000 tenants, and of one whose tenants have an active module each. */
export async function moduleInstallations() {
  const without = await idle({})
  const with10k = await idle({ isInstalled: true })
  const bytes = with10k.bytes - without.bytes
  const cpu = with10k.cpu - without.cpu
  return [
    {
      what: 'idle daemon, memory of 10,000 installations of modules',
      measured: `${(bytes / 2 ** 20).toFixed(1)} MiB (${(with10k.bytes / 2 ** 20).toFixed(0)} against ${(without.bytes / 2 ** 20).toFixed(0)})`,
      reach: 'at most 20 MB',
      ok: bytes <= most.bytes,
    },
    {
      what: 'the same, CPU time of one core',
      measured: `${(cpu * 100).toFixed(1)} % (${(with10k.cpu * 100).toFixed(1)} against ${(without.cpu * 100).toFixed(1)})`,
      reach: 'under 5 %',
      ok: cpu < most.cpu,
    },
  ]
}

async function idle({ isInstalled = false }) {
  const seed = async (made) => {
    await seedSchools({ databaseUrl: made.databaseUrl, dataDir: `${made.folder}/data` }, school)
    const tenantIds = Array.from({ length: tenants }, (_, n) => tenantId(n))
    if (isInstalled) await seedModules(made, [{ id: 'attendance', code: 'export const on = {}', tenantIds }])
    await withStreams(made, tenantIds)
  }
  const daemon = await startDaemon(port)
  try {
    // The first start publishes the items of the marketplace and reports each to every tenant: that is not idle.
    await itemsPublished(daemon)
    await seed({ databaseUrl: databaseOf(daemon), folder: daemon.folder })
    const { pid } = await daemon.again()
    await wait(settleMs)
    await assertSetUp(daemon, isInstalled ? tenants : 0)
    const before = cpuSeconds(pid)
    await wait(settleMs)
    return { bytes: residentBytes(pid), cpu: (cpuSeconds(pid) - before) / (settleMs / 1000) }
  } finally {
    daemon.close()
  }
}

const seeds = readdirSync(new URL('../config/marketplace', import.meta.url)).length
const databaseOf = ({ folder }) => `sqlite:${folder}/data/tenantry.db`

async function itemsPublished(daemon) {
  const { db, close } = openDatabase(databaseOf(daemon))
  for (let n = 0; n < 300; n++) {
    const items = await db.selectFrom('marketplace_items').select('id').execute()
    const jobs = await db.selectFrom('jobs').select('id').execute()
    if (items.length === seeds && jobs.length === 0) break
    await wait(100)
  }
  await close()
}

/** A measurement counts only with the installations in place and no event to deliver. */
async function assertSetUp(daemon, installed) {
  const { db, close } = openDatabase(databaseOf(daemon))
  const active = await db.selectFrom('module_installations').select('tenant_id').where('status', '=', 'active').execute()
  const streams = await db.selectFrom('streams').select('stream').where('stream', 'like', 'tenant:%').execute()
  const events = await db.selectFrom('events').select('seq').where('stream', 'like', 'tenant:%').limit(1).execute()
  await close()
  if (active.length !== installed || streams.length < tenants || events.length > 0)
    throw new Error(`${active.length} installations, ${streams.length} streams, ${events.length} events: not what is to be measured`)
}

/** Both daemons have the same streams. */
async function withStreams({ databaseUrl }, tenantIds) {
  const { db, close } = openDatabase(databaseUrl)
  for (let from = 0; from < tenants; from += 500)
    await db
      .insertInto('streams')
      .values(tenantIds.slice(from, from + 500).map((id) => ({ stream: `tenant:${id}`, seq: 0 })))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  await close()
}
