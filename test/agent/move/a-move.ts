import { mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fenceFile, localBoxes, provision } from '../../../src/agent/boxes/index.ts'
import { type FileStore, memoryLocks, memoryStore, onceOnly, openJournal } from '../../../src/agent/journal/index.ts'
import type { MoveDeps } from '../../../src/agent/move/index.ts'
import type { CommandContext, LocalBox } from '../../../src/agent/ports/index.ts'
import { type SimulatedHost, type SimulatedVaults, seededRandom, simulatedHost } from '../../../src/agent/simulated/index.ts'
import type { BoxCommandPayload } from '../../../src/core/boxes/index.ts'
import { type ManualClock, manualClock, type Random } from '../../../src/core/kit/index.ts'
import { readIfThere } from '../../../src/node/index.ts'
import { aProvision, aContext as provisionContext, templateFolder } from '../boxes/provisioning.ts'
import { moving } from '../simulated/boxes.ts'
import { aDisk } from '../simulated/disks.ts'
import { type Ports, wrapped } from '../update/an-update.ts'
import { type Mortal, mortal, type When } from '../update/mortal.ts'

export const probe = { consecutive: 3, spacingMs: 60_000, timeoutMs: 30 * 60_000 }
/** Time passes freely while files are written, so what is to end well is given plenty of it. */
export const patient = { ...probe, timeoutMs: 30 * 86_400_000 }
/** Far away: the tests let time pass freely while files are written. */
const deadlineMs = 30 * 86_400_000
export const address = { slug: 'oak', boxId: 'box_oak' }
const wanted = { chatDomain: 'chat.oak.example', publicUrl: 'https://chat.oak.example' }

export const aContext = (commandId: string, change: Partial<CommandContext> = {}): CommandContext => ({
  ...provisionContext().context,
  commandId,
  secrets: async () => ({ snapshots: { repository: 'sim:oak', password: 'a key', env: {}, mayCreate: true } }),
  ...change,
})

export type Deps = MoveDeps & Readonly<{ random: Random; stateFolder: string; locks: ReturnType<typeof memoryLocks> }>

/** One host of the move: what outlives its agents, and agents that know nothing but that. */
async function aMovingHost(name: string, clock: ManualClock, vaults: SimulatedVaults) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), `tenantry-${name}-`)))
  const host = simulatedHost({ clock, random: seededRandom(name), folder, vaults })
  const boxes = localBoxes(join(folder, 'state'))
  const fileStore = memoryStore()
  const agent = async (around: (ports: Ports) => Ports = (same) => same, files: FileStore = fileStore): Promise<Deps> => {
    const journal = await openJournal({ store: files, clock })
    const locks = memoryLocks()
    return {
      ...around(host),
      clock,
      random: seededRandom(`the agent of ${name}`),
      boxes,
      journal,
      locks,
      once: onceOnly({ journal, locks }),
      disk: aDisk(),
      allowedImages: ['registry.test/tenantry/*'],
      stateFolder: join(folder, 'state'),
      workFolder: join(folder, 'state', 'work'),
      portInUse: async () => false,
      settings: {
        boxesFolder: join(folder, 'boxes'),
        projectPrefix: `${name}-`,
        templateFolder,
        allowedImages: ['registry.test/tenantry/*'],
        binds: { public: '127.0.0.1', platform: '10.0.0.1' },
        maxUploadMegabytes: 50,
      },
    }
  }
  const fence = async () => {
    const box = await boxes.find('oak')
    return box && readIfThere(fenceFile(box.project))
  }
  return { name, folder, host, boxes, fileStore, agent, fence }
}
export type MovingHost = Awaited<ReturnType<typeof aMovingHost>>

/** Two hosts that share a snapshot store; `old` has a box that runs, with three messages and a picture. */
export async function twoHosts() {
  const clock = manualClock()
  const vaults: SimulatedVaults = new Map()
  const old = await aMovingHost('old', clock, vaults)
  const next = await aMovingHost('next', clock, vaults)
  const order = aProvision({ ...wanted, probe: patient })
  await moving(clock, async () => provision(await old.agent())(provisionContext().context, order), 5_000)
  const box = (await old.boxes.find('oak')) as LocalBox
  for (let message = 0; message < 3; message++) old.host.traffic.sendMessage(box)
  old.host.traffic.uploadMedia(box)
  return { clock, old, next, box }
}

export const handOverPayload = (change = {}): BoxCommandPayload<'tenant-box.hand_over'> => ({
  ...address,
  ownershipEpoch: 1,
  deadlineMs,
  ...change,
})

export const takeOverPayload = (
  snapshot: { snapshotId: string; snapshotSha256: string | null } | null,
  change: Partial<BoxCommandPayload<'tenant-box.take_over'>> = {},
): BoxCommandPayload<'tenant-box.take_over'> => ({
  ...address,
  ...wanted,
  ownershipEpoch: 2,
  snapshotId: snapshot?.snapshotId ?? 'none',
  snapshotSha256: snapshot?.snapshotSha256 ?? null,
  ports: { public: 19_001, platform: 19_002, probe: 19_003 },
  probe: patient,
  deadlineMs,
  ...change,
})

export const running = ({ host }: { host: SimulatedHost }, box: LocalBox): readonly string[] => host.running(box.project.name)

/** Puts something around every call of the ports that an agent uses. */
export const around =
  (touch: (name: string, act: () => Promise<unknown>) => Promise<unknown>) =>
  (ports: Ports): Ports =>
    wrapped(ports, touch)

const looks = new Set([
  'containers',
  'content',
  'databaseBytes',
  'databaseReady',
  'facts',
  'find',
  'localDigest',
  'logs',
  'probe',
  'projects',
  'serverVersions',
  'streamPositions',
  'target',
  'volumePath',
  'volumesFolder',
])

/** A life that ends at its `place`-th change of the world: a kill while one only looks leaves what the kill before it left. */
export function mortalAtChange(place: number, when: When): Mortal {
  let changes = 0
  return mortal((_, name) => !looks.has(name) && ++changes === place, when)
}
