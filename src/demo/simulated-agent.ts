import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { composeRecord, factFinder, localBoxes, reportVersions } from '../agent/boxes/index.ts'
import { type AgentIdentity, commandShelf, enrolAgent, newAgentKey, runAgent } from '../agent/channel/index.ts'
import { memoryLocks, memoryShelf, openJournal } from '../agent/journal/index.ts'
import { disownBox } from '../agent/move/index.ts'
import type { CommandExecutors } from '../agent/ports/index.ts'
import { boxExecutors } from '../agent/program/index.ts'
import { type Fault, realistic, type SimulatedVaults, seededRandom, simulatedHost } from '../agent/simulated/index.ts'
import { isProblem, secret } from '../core/kit/index.ts'
import { acceleratedClock, packageRoot, packageVersion, silentLogger, systemClock, systemRandom } from '../node/index.ts'

type SimulatedAgent = Readonly<{
  name: string
  daemonUrl: string
  token: string
  folder: string
  faults: readonly Fault[]
  vaults: SimulatedVaults
  signal: AbortSignal
}>

/** How much faster time passes on the simulated hosts: a second is a minute. */
const timesFaster = 60

const settings = (folder: string) => ({
  boxesFolder: join(folder, 'boxes'),
  templateFolder: packageRoot('config/box-template'),
  allowedImages: ['registry.demo/tenantry/*'],
  binds: { public: '127.0.0.1', platform: '127.0.0.1' },
  maxUploadMegabytes: 50,
})

const disk = { freeBytes: async () => 200e9, usedBytes: async () => 4e8, diskOf: async () => 'the only one' }

/**
 * The real agent over a host that does not exist: it enrols, dials in, and does all that it would do elsewhere.
 * The channel keeps the machine's time, what happens in boxes is faster. Resolves when the signal aborts.
 */
export async function runSimulatedAgent({ name, daemonUrl, token, folder, faults, vaults, signal }: SimulatedAgent): Promise<void> {
  const clock = acceleratedClock(timesFaster)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const host = simulatedHost({ clock, random: seededRandom(name), folder, profile: { ...realistic, faults }, vaults })
  const boxes = localBoxes(join(folder, 'state'))
  const journal = await openJournal({ shelf: memoryShelf(), clock })
  const stateFolder = join(folder, 'state')
  const findFacts = factFinder({ engine: host.engine, clock, disk, compose: composeRecord({ stateFolder, boxes }) })
  const here = { ...host, clock, random: systemRandom, stateFolder, boxes, journal, locks: memoryLocks(), disk, findFacts }
  const agentVersion = packageVersion()
  const identity = await enrolled({ daemonUrl, agentVersion }, token)
  await runAgent({
    ...host.channel({ clock: systemClock }),
    random: systemRandom,
    log: silentLogger(),
    identity,
    agentVersion,
    executors: inWallTime(timesFaster, boxExecutors({ ...here, portInUse: async () => false, settings: settings(folder) })),
    shelf: commandShelf(memoryShelf()),
    disown: (box) => disownBox({ ...here, settings: settings(folder), workFolder: join(folder, 'state', 'work') }, box),
    acknowledge: journal.acknowledge,
    reports: async () => Promise.all((await boxes.list()).map((box) => reportVersions(here, box))),
    machine: async () => ({ engine: { ...(await host.engine.info()), restic: await host.snapshots.version() }, resources: null }),
    drainMs: 0,
    signal,
  })
}

/** Six agents at once are more than strangers at one address may try; they wait their turn. */
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

/**
 * What boxes do takes a fraction of its time here, and its agent measures the whole. What it tells is as anybody measures who looks on, as are the
 * times at which it tells it: the steps of an update then add up to how long it took. And an answer that somebody waits for has the time that
 * passes for them.
 */
export const inWallTime = (timesFaster: number, executors: CommandExecutors): CommandExecutors =>
  Object.fromEntries(
    Object.entries(executors).map(([kind, execute]) => [
      kind,
      async (context: unknown, payload: object) =>
        shortened(await (execute as (...all: unknown[]) => unknown)(context, lengthened(payload, timesFaster)), timesFaster),
    ]),
  ) as unknown as CommandExecutors

const lengthened = (payload: object, factor: number): object =>
  'withinMs' in payload ? { ...payload, withinMs: Number(payload.withinMs) * factor } : payload

/** Every duration in a result, by its name: `durationMs`, `fencedMs`, `tookMs`. */
function shortened(told: unknown, factor: number): unknown {
  if (Array.isArray(told)) return told.map((one) => shortened(one, factor))
  if (typeof told !== 'object' || told === null) return told
  return Object.fromEntries(
    Object.entries(told).map(([name, value]) => [
      name,
      typeof value === 'number' && name.endsWith('Ms') ? Math.round(value / factor) : shortened(value, factor),
    ]),
  )
}
