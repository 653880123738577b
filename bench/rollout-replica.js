// One replica's engine and nothing else of a daemon, in a process of its own: its CPU time is the engine's, once what is no engine's is taken off:
// its start, and the two things that it does in the place of the agents' channel. It stores what agents tell, because in a daemon that goes through
// the same connection (another process that writes would empty SQLite's cache before every look), and it says over IPC when a command was queued.
import { sql } from 'kysely'
import { openDatabase } from '../dist/daemon/db/index.js'
import { startRolloutEngine } from '../dist/daemon/rollouts/index.js'
import { rolloutNeeds } from './rollout-fleet.js'

const [databaseUrl, holder] = process.argv.slice(2)
const stopping = new AbortController()
const { db } = openDatabase(databaseUrl)
const needs = rolloutNeeds(db, holder)

const cpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
let notEngineMs = 0
/** Not for what waits: meanwhile the engine has its turn, and that is its own. */
const leftOut = (startedMs) => {
  notEngineMs += cpuMs() - startedMs
}

const store = (told) =>
  // Whoever has the connection has it alone: between these two looks at the clock the engine does nothing.
  db.connection().execute(async (one) => {
    const started = cpuMs()
    await sql`begin immediate`.execute(one)
    for (const { id, set } of told)
      await one
        .updateTable('commands')
        .set((e) => ({ ...set, revision: e('revision', '+', 1), heard_at: new Date().toISOString() }))
        .where('id', '=', id)
        .execute()
    await sql`commit`.execute(one)
    leftOut(started)
  })

const hosts = new Set()
const queued = (hostId) => {
  if (hosts.size === 0) setImmediate(tell)
  hosts.add(hostId)
}
const tell = () => {
  const started = cpuMs()
  if (process.connected) process.send({ queued: [...hosts] })
  hosts.clear()
  leftOut(started)
}
const bus = { ...needs.bus, queued }
process.on('message', async ({ told, ask }) => {
  if (told) {
    await store(told)
    for (const { id } of told) bus.changed(id)
  }
  if (ask) process.send({ cpuMs: cpuMs() - notEngineMs })
})
process.once('disconnect', () => stopping.abort())
notEngineMs = cpuMs()
process.send({ ready: true, atMs: performance.timeOrigin + performance.now() })
await startRolloutEngine({ ...needs, bus }, stopping.signal)
