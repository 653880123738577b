import { openDatabase } from '../dist/daemon/db/index.js'
import { cpuSeconds, residentBytes, startDaemon, wait } from './daemon-process.js'
import { seedModules } from './module-seed.js'
import { seedSchools } from './school-seed.js'

const [port, tenants] = [18_462, 10_000]
const most = { bytes: 20e6, cpu: 0.05 }
const settleMs = 20_000
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
      what: 'idle daemon, memory of 10,000 active installations of modules',
      measured: `${(bytes / 2 ** 20).toFixed(1)} MiB`,
      reach: 'at most 20 MB',
      ok: bytes <= most.bytes,
    },
    { what: 'the same, CPU time of one core', measured: `${(cpu * 100).toFixed(1)} %`, reach: 'under 5 %', ok: cpu < most.cpu },
  ]
}

async function idle({ isInstalled = false }) {
  const seed = async (made) => {
    await seedSchools({ databaseUrl: made.databaseUrl, dataDir: `${made.folder}/data` }, school)
    const tenantIds = Array.from({ length: tenants }, (_, n) => tenantId(n))
    if (isInstalled) await seedModules(made, [{ id: 'attendance', code: 'export const on = {}', tenantIds }])
    await withStreams(made, tenantIds)
  }
  const daemon = await startDaemon(port, { seed })
  try {
    await wait(settleMs)
    const before = cpuSeconds(daemon.pid)
    await wait(settleMs)
    return { bytes: residentBytes(daemon.pid), cpu: (cpuSeconds(daemon.pid) - before) / (settleMs / 1000) }
  } finally {
    daemon.close()
  }
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
