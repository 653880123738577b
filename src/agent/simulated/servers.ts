import { existsSync } from 'node:fs'
import { fenceFile } from '../boxes/index.ts'
import type { ContainerUsage, LocalBox, LogOptions } from '../ports/index.ts'
import { storeMedia } from './media.ts'
import type { VolumeContent } from './volumes.ts'
import { containerOf, runs, type SimulatedContainer, type World } from './world.ts'

// The servers of a simulated box over time. Without timers: each read computes the current state.

export type ServerState = 'absent' | 'starting' | 'upgrading' | 'ready'

const byNow = (world: World, container: SimulatedContainer): ServerState => {
  const now = world.clock.monotonicMs()
  if (now < container.upgradingUntilMs) return 'upgrading'
  return now < container.readyMs ? 'starting' : 'ready'
}

export function databaseState(world: World, project: string): ServerState {
  const container = containerOf(world, project, 'postgres')
  return runs(container) ? byNow(world, container) : 'absent'
}

export function objectsState(world: World, project: string): ServerState {
  const container = containerOf(world, project, 'minio')
  return runs(container) ? byNow(world, container) : 'absent'
}

export function chatState(world: World, project: string): ServerState {
  const container = containerOf(world, project, 'synapse')
  if (!runs(container)) return 'absent'
  if (!container.metDatabase) meetDatabase(world, container)
  if (!container.metDatabase) return 'starting'
  return runs(container) ? byNow(world, container) : 'absent'
}

/**
 * Simulates the start of Synapse: it refuses a newer database, records its compat version, then upgrades the schema. This is why a rollback by
 * image alone is not always possible.
 */
function meetDatabase(world: World, synapse: SimulatedContainer): void {
  const database = containerOf(world, synapse.project.name, 'postgres')
  const volume = database?.volumes[0]
  if (volume === undefined || databaseState(world, synapse.project.name) !== 'ready') return
  synapse.metDatabase = true
  const image = world.image(synapse.image)
  const content = world.volumes.read(volume)
  if (content.compat !== null && content.compat > image.schema) {
    synapse.dies = 'Cannot use this database as it is too new for the server to understand'
    return
  }
  if (content.schema !== null && content.schema < image.schema) upgrade(world, synapse)
  const schema = Math.max(content.schema ?? 0, image.schema)
  world.volumes.change(volume, { schema, compat: Math.max(content.compat ?? 0, image.compat) })
}

function upgrade(world: World, synapse: SimulatedContainer): void {
  synapse.upgradingUntilMs = world.clock.monotonicMs() + world.faults.draw('schemaUpgradeMs')
  synapse.readyMs = Math.max(synapse.readyMs, synapse.upgradingUntilMs)
}

/** Number of restarts; a crashing container restarts every ten seconds. */
export const restartsOf = (world: World, container: SimulatedContainer): number =>
  container.wanted === 'running' && container.dies ? 1 + Math.floor((world.clock.monotonicMs() - container.startedMs) / 10_000) : 0

type SimulatedLine = Readonly<{ at: string; text: string }>

/** Log of a container since its last start. */
export function logOf(world: World, container: SimulatedContainer): SimulatedLine[] {
  const { startedAt, dies, service, wanted } = container
  const begins = line(startedAt, 0, `${service} ${world.image(container.image).version} starting`)
  if (dies) return [begins, line(startedAt, 1, dies)]
  if (service === 'synapse' && byNow(world, container) === 'upgrading') return [begins, line(startedAt, 1, 'Upgrading database schema')]
  return wanted === 'running' ? [begins] : [begins, line(startedAt, 2, 'stopped')]
}

// Nanosecond timestamps, like the real engine.
const line = (startedAt: string, ms: number, text: string): SimulatedLine => ({
  at: new Date(Date.parse(startedAt) + ms).toISOString().replace('Z', '000000Z'),
  text,
})

export const printedLog = (lines: readonly SimulatedLine[], last: number, { since, timestamps = false }: LogOptions = {}): string =>
  lines
    .filter(({ at }) => since === undefined || Date.parse(at) >= Date.parse(since))
    .slice(-last)
    .map(({ at, text }) => `${timestamps ? `${at} ` : ''}${text}\n`)
    .join('')

const readEveryMs = 500

/** Requests that a running server writes into its log while somebody follows it. */
const requests: Readonly<Record<string, string>> = {
  edge: 'GET /_matrix/client/v3/sync 200',
  synapse: 'Processed request: 12ms GET /_matrix/client/v3/sync 200',
  postgres: 'checkpoint complete: wrote 12 buffers',
  minio: 'GET /minio/health/live 200',
}
const requestEveryMs = 3_000

/** The log of a container as it grows, and a request every three seconds. */
export async function* followLog(
  world: World,
  { id, since, signal }: Readonly<{ id: string; since: string; signal: AbortSignal }>,
): AsyncGenerator<string> {
  let printed = ''
  let requestedMs = world.clock.monotonicMs()
  while (!signal.aborted) {
    const container = [...world.containers.values()].find((one) => one.id === id)
    if (!container) return
    for (const { at, text } of logOf(world, container).filter((one) => Date.parse(one.at) >= Date.parse(since) && one.at > printed)) {
      printed = at
      yield `${at} ${text}`
    }
    if (!runs(container)) return
    if (world.clock.monotonicMs() - requestedMs >= requestEveryMs) {
      requestedMs = world.clock.monotonicMs()
      yield `${line(world.clock.now().toISOString(), 0, '').at} ${requests[container.service] ?? 'ready'}`
    }
    await world.clock.sleep(readEveryMs, signal)
  }
}

const mebibyte = 1024 * 1024
const simulatedMemory: Readonly<Record<string, number>> = { edge: 12, synapse: 410, postgres: 96, minio: 150 }

/** Numbers that grow and shrink a little; null for a container that does not run. */
export function usageOf(world: World, container: SimulatedContainer): ContainerUsage | null {
  if (!runs(container)) return null
  const wave = 1 + Math.sin(world.clock.monotonicMs() / 20_000) / 10
  const memory = (simulatedMemory[container.service] ?? 20) * mebibyte
  return {
    cpuPercent: Math.round((memory / mebibyte / 40) * wave * 10) / 10,
    memoryBytes: Math.round(memory * wave),
    memoryLimitBytes: 8 * 1024 * mebibyte,
  }
}

/** Response to a client: stored, 503 of the fence, or no response. */
type ClientAnswer = 'stored' | 'fenced' | 'unreachable'

/** Simulated users. Data answered with `stored` must never be lost. */
export type Traffic = Readonly<{
  sendMessage(box: LocalBox): ClientAnswer
  uploadMedia(box: LocalBox): ClientAnswer
  /** Data visible to users; all zero while a volume is missing. */
  content(box: LocalBox): VolumeContent
}>

export function simulatedTraffic(world: World): Traffic {
  const volume = (box: LocalBox, service: 'postgres' | 'synapse' | 'minio') => containerOf(world, box.project.name, service)?.volumes[0]
  const read = (name: string | undefined) => world.volumes.read(name ?? '-')
  const answer = (box: LocalBox): ClientAnswer => {
    if (!runs(containerOf(world, box.project.name, 'edge'))) return 'unreachable'
    if (existsSync(fenceFile(box.project))) return 'fenced'
    return chatState(world, box.project.name) === 'ready' && databaseState(world, box.project.name) === 'ready' ? 'stored' : 'unreachable'
  }
  const add = (name: string | undefined, field: 'messages' | 'media' | 'objects' | 'stream') => {
    if (name !== undefined) world.volumes.change(name, { [field]: read(name)[field] + 1 })
  }
  return {
    sendMessage: (box) => {
      const got = answer(box)
      if (got !== 'stored') return got
      add(volume(box, 'postgres'), 'messages')
      add(volume(box, 'postgres'), 'stream')
      return got
    },
    uploadMedia: (box) => {
      const got = answer(box)
      if (got !== 'stored') return got
      add(volume(box, 'synapse') ?? volume(box, 'minio'), 'objects')
      add(volume(box, 'postgres'), 'media')
      storeMedia(world, volume(box, 'synapse'), read(volume(box, 'postgres')).media)
      return got
    },
    content: (box) => ({ ...read(volume(box, 'postgres')), objects: read(volume(box, 'synapse') ?? volume(box, 'minio')).objects }),
  }
}
