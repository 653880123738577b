// One replica's engine and nothing else of a daemon, in a process of its own: its CPU time is the engine's, once what is no engine's is taken off:
// its start, and the two things that it does in the place of the agents' channel, which is a pipe here. It stores the reports of agents, because in a daemon
// that goes through the same connection (another process that writes would empty SQLite's cache before every look), and it says when a command was queued.
import { Socket } from 'node:net'
import { CompiledQuery } from 'kysely'
import { openDatabase } from '../dist/daemon/db/index.js'
import { startRolloutEngine } from '../dist/daemon/rollouts/index.js'
import { rolloutNeeds } from './rollout-fleet.js'

const [databaseUrl, owner] = process.argv.slice(2)
const stopping = new AbortController()
const { db } = openDatabase(databaseUrl)
const deps = rolloutNeeds(db, owner)

const cpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
let notEngineMs = 0
/** Not for what waits: meanwhile the engine has its turn, and that is its own. */
const leftOut = (startedMs) => {
  notEngineMs += cpuMs() - startedMs
}

// Not IPC: of a pipe Node.js hands over bare text, and what it takes to read that can be left out here.
const agents = new Socket({ fd: 4 })
let rest = ''
agents.setEncoding('utf8').on('data', (text) => {
  const started = cpuMs()
  const lines = (rest + text).split('\n')
  rest = lines.pop()
  const reports = lines.flatMap((line) => JSON.parse(line))
  leftOut(started)
  if (reports.length > 0) void receive(reports)
})

const receive = async (reports) => {
  await store(reports)
  for (const { id } of reports) bus.changed(id)
}

const store = (reports) =>
  // The connection is held exclusively, so the engine does nothing between these two readings of the clock.
  db.connection().execute(async (one) => {
    const started = cpuMs()
    await one.executeQuery(CompiledQuery.raw('begin immediate'))
    for (const { id, set } of reports) {
      const columns = Object.keys(set)
      const text = `update commands set ${columns.map((column) => `${column} = ?`).join()}, revision = revision + 1, heard_at = ? where id = ?`
      await one.executeQuery(CompiledQuery.raw(text, [...Object.values(set), new Date().toISOString(), id]))
    }
    await one.executeQuery(CompiledQuery.raw('commit'))
    leftOut(started)
  })

const hosts = new Set()
const queued = (hostId) => {
  if (hosts.size === 0) setImmediate(sendCommands)
  hosts.add(hostId)
}
const sendCommands = () => {
  const started = cpuMs()
  agents.write(`${JSON.stringify([...hosts])}\n`)
  hosts.clear()
  leftOut(started)
}
const bus = { ...deps.bus, queued }
process.on('message', () => process.send({ cpuMs: cpuMs() - notEngineMs }))
process.once('disconnect', () => stopping.abort())
notEngineMs = cpuMs()
process.send({ ready: true, atMs: performance.timeOrigin + performance.now() })
await startRolloutEngine({ ...deps, bus }, stopping.signal)
