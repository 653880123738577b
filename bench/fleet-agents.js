// A thousand agents in one process: the real channel of each, over hosts whose boxes only answer what they are asked.
// What stands behind an executor costs the daemon nothing, so nothing stands there. Tells its parent when each command began.
import { setMaxListeners } from 'node:events'
import { readFileSync } from 'node:fs'
import { commandStore, runAgent } from '../dist/agent/channel/index.js'
import { memoryStore } from '../dist/agent/journal/index.js'
import { silentLogger, systemClock, systemRandom } from '../dist/node/index.js'

const { hosts } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const leaving = new AbortController()
setMaxListeners(0, leaving.signal) // all agents listen to it
process.once('SIGTERM', () => leaving.abort())

const part = { ok: true, ms: 3 }
const probe = () => ({
  at: new Date().toISOString(),
  verdict: 'ok',
  components: { chatApi: part, chatSync: part, database: part, objectStorage: part },
})
const service = (name, tag) => ({
  image: `registry.bench/${name}:${tag}`,
  digest: `sha256:${'a'.repeat(64)}`,
  state: 'running',
  restartCount: 0,
})
const report = (slug) => ({
  slug,
  at: new Date().toISOString(),
  installed: { migrationsHead: '0000', postgres: '15.18', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' },
  services: {
    edge: service('edge', '1'),
    synapse: service('synapse', 'v1.157.1'),
    postgres: service('postgres', '15.18'),
    minio: service('minio', '1'),
  },
  fenced: false,
  ownershipEpoch: 1,
  managed: true,
  databaseBytes: 25_000_000,
})

const executors = {
  'tenant-box.report_versions': async (_, { slug }) => ({ report: report(slug) }),
  'tenant-box.healthcheck': async ({ commandId }, { slug }) => {
    process.send?.({ began: commandId, atMs: Date.now() })
    return { probe: probe(), report: report(slug) }
  },
}

const machine = { cpus: 8, memoryBytes: 32e9, memoryAvailableBytes: 16e9, load: [1, 1, 1], diskBytes: 1e12, freeDiskBytes: 5e11, boxes: 10 }
const agent = async ({ identity, slugs, boxIds }, nth) => {
  await systemClock.sleep(nth * 10, leaving.signal)
  await runAgent({
    clock: systemClock,
    random: systemRandom,
    log: silentLogger(),
    identity,
    agentVersion: '0.1.0',
    executors: /** @type {any} others are never ordered */ (executors),
    store: commandStore(memoryStore()),
    reports: async (of) => slugs.filter((_, at) => !of || ('boxId' in of && boxIds[at] === of.boxId)).map(report),
    machine: async () => ({ engine: { engine: '27.1', compose: '2.29', restic: '0.18.0' }, resources: machine }),
    resources: async () => machine,
    drainMs: 0,
    signal: leaving.signal,
  })
}
await Promise.all(hosts.map(agent))
