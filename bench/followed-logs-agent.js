// The agent of `followed-logs.js`: its channel and the reading of logs. It reports its CPU time when asked.
import { tmpdir } from 'node:os'
import { followLogs } from '../dist/agent/boxes/index.js'
import { newAgentKey, runAgent } from '../dist/agent/channel/index.js'
import { dockerEngine } from '../dist/agent/docker/index.js'
import { silentLogger, systemClock, systemRandom } from '../dist/node/index.js'

const [daemonUrl, dockerHost] = process.argv.slice(2)
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuMicros: user + system, atMs: performance.now() })
})

const find = async (slug) => ({
  ...{ slug, boxId: slug, ownershipEpoch: 1, managed: true, handedOver: null },
  project: { name: slug, folder: tmpdir(), composeFile: '/dev/null' },
})
const identity = { hostId: 'hst_bench', name: 'bench', keyId: 'bench', daemonUrl, privateKey: await newAgentKey() }
const boxes = /** @type {any} */ ({ find })
await runAgent({
  ...{ clock: systemClock, random: systemRandom, log: silentLogger(), identity, agentVersion: '0.1.0' },
  executors: /** @type {any} */ ({
    'tenant-box.follow_logs': followLogs({ clock: systemClock, engine: dockerEngine({ dockerHost }), boxes }),
  }),
  store: { all: async () => [], put: async () => undefined, remove: async () => undefined },
  reports: async () => [],
  machine: async () => ({ engine: null, resources: null }),
  signal: new AbortController().signal,
})
