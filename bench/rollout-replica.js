// One replica's engine and nothing else of a daemon, in a process of its own: its CPU time is the engine's. It is told over IPC what
// agents changed, as the channel's routes would tell it in the daemon, and tells when a command was queued.
import { openDatabase } from '../dist/daemon/db/index.js'
import { startRolloutEngine } from '../dist/daemon/rollouts/index.js'
import { rolloutNeeds } from './rollout-fleet.js'

const [databaseUrl, holder] = process.argv.slice(2)
const stopping = new AbortController()
const { db } = openDatabase(databaseUrl)
const needs = rolloutNeeds(db, holder)
// In a daemon this is a call. Here it is a message between processes, whose price is not the engine's: one is sent for all that came together.
const hosts = new Set()
const queued = (hostId) => {
  if (hosts.size === 0) setImmediate(tell)
  hosts.add(hostId)
}
const tell = () => {
  process.send({ queued: [...hosts] })
  hosts.clear()
}
const bus = { ...needs.bus, queued }
process.on('message', ({ changed, ask }) => {
  for (const id of changed ?? []) bus.changed(id)
  if (ask) process.send({ cpu: process.cpuUsage() })
})
process.once('disconnect', () => stopping.abort())
process.send({ ready: true, atMs: performance.timeOrigin + performance.now() })
await startRolloutEngine({ ...needs, bus }, stopping.signal)
