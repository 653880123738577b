import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { composeRecord, factFinder, localBoxes, reportVersions } from '../agent/boxes/index.ts'
import { type AgentIdentity, commandStore, enrolAgent, newAgentKey, runAgent } from '../agent/channel/index.ts'
import { memoryLocks, memoryStore, openJournal } from '../agent/journal/index.ts'
import { disownBox } from '../agent/move/index.ts'
import { boxExecutors } from '../agent/program/index.ts'
import { type Fault, type Latencies, realistic, type SimulatedVaults, seededRandom, simulatedHost } from '../agent/simulated/index.ts'
import { isProblem, secret } from '../core/kit/index.ts'
import { buildVersion, packageRoot, silentLogger, systemClock, systemRandom, type Tracing } from '../node/index.ts'

type SimulatedAgent = Readonly<{
  name: string
  daemonUrl: string
  token: string
  folder: string
  faults: readonly Fault[]
  vaults: SimulatedVaults
  tracing?: Tracing | undefined
  signal: AbortSignal
}>

/** A simulated box takes one second for what takes a real one a minute. */
const speedup = 60

const brisk = Object.fromEntries(
  Object.entries(realistic.latencies).map(([what, [min, max]]) => [what, [min / speedup, max / speedup]]),
) as unknown as Latencies

const settings = (folder: string) => ({
  boxesFolder: join(folder, 'boxes'),
  templateFolder: packageRoot('config/box-template'),
  allowedImages: ['registry.demo/tenantry/*'],
  binds: { public: '127.0.0.1', platform: '127.0.0.1' },
  maxUploadMegabytes: 50,
})

const machine = { cpus: 8, load: [0.6, 0.5, 0.4], memoryBytes: 34e9, memoryAvailableBytes: 21e9, diskBytes: 500e9, freeDiskBytes: 200e9 }
const disk = {
  freeBytes: async () => machine.freeDiskBytes,
  usedBytes: async (path: string) => (path.endsWith('_data') ? 4e8 : 1e6),
  diskOf: async () => 'the only one',
}

/** Runs the real agent on a simulated host until the signal aborts. */
export async function runSimulatedAgent({
  name,
  daemonUrl,
  token,
  folder,
  faults,
  vaults,
  tracing,
  signal,
}: SimulatedAgent): Promise<void> {
  const clock = systemClock
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const host = simulatedHost({ clock, random: seededRandom(name), folder, profile: { latencies: brisk, faults }, vaults })
  const boxes = localBoxes(join(folder, 'state'))
  const journal = await openJournal({ store: memoryStore(), clock })
  const stateFolder = join(folder, 'state')
  const findFacts = factFinder({ engine: host.engine, clock, disk, compose: composeRecord({ stateFolder, boxes }) })
  const here = { ...host, clock, random: systemRandom, stateFolder, boxes, journal, locks: memoryLocks(), disk, findFacts }
  const agentVersion = buildVersion()
  const resources = async () => ({ ...machine, boxes: (await boxes.list()).length })
  const identity = await enrolled({ daemonUrl, agentVersion }, token)
  await runAgent({
    ...host.channel({ clock: systemClock }),
    random: systemRandom,
    log: silentLogger(),
    tracing,
    identity,
    agentVersion,
    executors: boxExecutors({ ...here, portInUse: async () => false, settings: settings(folder) }),
    store: commandStore(memoryStore()),
    disown: (box) => disownBox({ ...here, settings: settings(folder), workFolder: join(folder, 'state', 'work') }, box),
    acknowledge: journal.acknowledge,
    reports: async () => Promise.all((await boxes.list()).map((box) => reportVersions(here, box))),
    machine: async () => ({
      engine: { ...(await host.engine.info()), restic: await host.snapshots.version() },
      resources: await resources(),
    }),
    resources,
    drainMs: 0,
    signal,
  })
}

/** Retries while the rate limit per address refuses enrolments. */
async function enrolled(daemon: { daemonUrl: string; agentVersion: string }, token: string): Promise<AgentIdentity> {
  const key = await newAgentKey()
  for (;;) {
    try {
      return await enrolAgent(daemon, key, secret(token))
    } catch (error) {
      if (!isProblem(error, 'RATE_LIMITED')) throw error
      await systemClock.sleep(500)
    }
  }
}
