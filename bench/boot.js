import { sql } from 'kysely'
import { openDatabase } from '../dist/daemon/db/index.js'
import { cpuSeconds, startDaemon, wait } from './daemon-process.js'
import { idOf, seedRegistry } from './registry-seed.js'
import { sized } from './size.js'

const users = sized(1_000_000, 1000)
const events = sized(100_000, 100)
const turns = sized(5, 1)
/** By then each background loop has run once. */
const settleMs = sized(5000, 0)
const most = 1.2

/** A registry of 10,000 tenants with a box each, 1,000,000 users and what happened last. */
async function seedAll({ databaseUrl }) {
  const opened = openDatabase(databaseUrl)
  await seedRegistry(opened, users)
  const row = sql`'tenant:' || ${idOf('ten', 'n % 10000')}, 2 + n / 10000, 'users', 'user.enabled', '{}', ${sql.lit(new Date().toISOString())}`
  await sql`insert into events (stream, seq, source, event_type, payload, created_at)
    with recursive counted(n) as (select 0 union all select n + 1 from counted where n + 1 < ${events}) select ${row} from counted`.execute(
    opened.db,
  )
  await opened.close()
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** Whether a daemon is up as soon over a registry that has grown as over an empty one, and has done no more by then. */
export async function boot() {
  const daemons = []
  try {
    daemons.push(await startDaemon(18_445), await startDaemon(18_446, { seed: seedAll }))
    const ready = [[], []]
    const cpu = [[], []]
    for (let turn = 0; turn < turns; turn++) {
      for (const at of turn % 2 === 0 ? [0, 1] : [1, 0]) {
        const { readyMs, pid } = await daemons[at].again()
        await wait(settleMs)
        ready[at].push(readyMs)
        cpu[at].push(cpuSeconds(pid))
      }
    }
    console.error('boot', JSON.stringify({ ready, cpu }))
    return [
      row('first answer of a daemon, 1,000,000 users and 10,000 boxes against none', ready),
      row('the same, CPU time of its first seconds', cpu),
    ]
  } finally {
    for (const daemon of daemons) daemon.close()
  }
}

function row(what, durations) {
  const [empty, grown] = durations
  const ratio = median(grown) / median(empty)
  return { what, measured: `${ratio.toFixed(2)} ×`, reach: `at most ${most} ×`, ok: ratio <= most }
}
