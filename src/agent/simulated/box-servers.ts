import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { ProbeComponent, ProbeResult } from '../../core/boxes/index.ts'
import { isoNow, problem, randomText, type Secret } from '../../core/kit/index.ts'
import { readIfThere } from '../../node/index.ts'
import { fenceFile, readBoxSecrets } from '../boxes/index.ts'
import type { BoxServers, LocalBox, ProbeAccount } from '../ports/index.ts'
import {
  applySimulated,
  backupSimulated,
  compareSimulated,
  databaseVolume,
  dumpForeignSimulated,
  dumpSimulated,
  factsOf,
  finishLoadSimulated,
  foreignBackupSimulated,
  foreignContentSimulated,
  loadSimulated,
  markSimulated,
  positionsOf,
  raiseSimulated,
  sampleSimulated,
  writtenSimulated,
} from './database.ts'
import { chatState, databaseState, objectsState, type ServerState } from './servers.ts'
import { simulatedUpgrades } from './upgrades.ts'
import { containerOf, runs, type World } from './world.ts'

/** Servers of simulated boxes: writing probes, dumps and loads of the simulated database. */
export const simulatedServers = (world: World): BoxServers => ({
  probe: (box, signal) => probeSimulated(world, box, signal),
  check: (box, _writes, signal) => probeSimulated(world, box, signal),
  chatAnswers: async ({ project }) => chatState(world, project.name) === 'ready',
  serverVersions: async ({ project }) => ({
    ...(chatState(world, project.name) === 'ready' ? { synapse: versionOf(world, project.name, 'synapse') } : {}),
    ...(databaseState(world, project.name) === 'ready' ? { postgres: versionOf(world, project.name, 'postgres') } : {}),
    ...(objectsState(world, project.name) === 'ready' ? { minio: versionOf(world, project.name, 'minio') } : {}),
  }),
  dumpDatabase: (box, folder, signal) => dumpSimulated({ world, box }, folder, signal),
  dumpForeignDatabase: (source, dump, signal) => dumpForeignSimulated(world, source, { ...dump, signal }),
  foreignContent: (source, slug, signal) => foreignContentSimulated(world, source, { slug, signal }),
  beginForeignBackup: (source, { slug }, signal) => foreignBackupSimulated(world, source, { slug, signal }),
  copyReady: async ({ project }) => databaseState(world, project.name) === 'ready',
  adoptCopy: async (box, _source, signal) => {
    signal?.throwIfAborted()
    databaseVolume(world, box)
  },
  compareRows: (box, expected, signal) => compareSimulated({ world, box }, expected, signal),
  chatMark: (box, signal) => markSimulated({ world, box }, signal),
  writtenSince: (box, since) => writtenSimulated({ world, box }, since),
  loadDatabase: (box, { folder, expected }, signal) => loadSimulated({ world, box }, { folder, expected }, signal),
  finishDatabaseLoad: (box, expected, signal) => finishLoadSimulated({ world, box }, expected, signal),
  streamPositions: (box, signal) => positionsOf(world, box, signal),
  raiseStreams: (box, past, signal) => raiseSimulated({ world, box }, past, signal),
  sampleMedia: (box, count, signal) => sampleSimulated({ world, box }, count, signal),
  createProbeAccount: async (box, appserviceToken, signal) => {
    signal?.throwIfAborted()
    return simulatedAccount(world, box, appserviceToken)
  },
  createTemporaryAccount: async (box, registrationSecret, signal) => {
    signal?.throwIfAborted()
    return simulatedTemporaryAccount(world, box, registrationSecret)
  },
  beginBackup: (box, _name, signal) => backupSimulated({ world, box }, signal),
  holdLog: async ({ slug }) => {
    throw problem('SNAPSHOT_FAILED', `the simulated database of ${slug} keeps no log`)
  },
  databaseBytes: async (box) => factsOf(world, box)?.bytes,
  databaseFacts: async (box) => factsOf(world, box),
  applyMigration: (box, migration, signal) => applySimulated({ world, box }, migration, signal),
  databaseReady: async ({ project }) => databaseState(world, project.name) === 'ready',
  upgrades: simulatedUpgrades(world),
})

const versionOf = (world: World, project: string, service: 'synapse' | 'postgres' | 'minio'): string =>
  world.image(containerOf(world, project, service)?.image ?? ':unknown').version

/** Returns the same user and room each time, like the real server. */
async function simulatedAccount(world: World, box: LocalBox, token: Secret): Promise<ProbeAccount> {
  const what = 'the probe user'
  assertChatUp(world, box, what)
  if (isRejected(token, (await readBoxSecrets(box.project))?.appserviceToken)) throw notMade(box, what, rejected)
  return { userId: `@tenantry-probe:${box.chatDomain}`, accessToken: token.reveal(), roomId: `!probe:${box.chatDomain}` }
}

/** Returns a new user and room each time. */
async function simulatedTemporaryAccount(world: World, box: LocalBox, registration: Secret): Promise<ProbeAccount> {
  const what = 'a temporary user'
  assertChatUp(world, box, what)
  const config = await configOf(box)
  if (Array.isArray(config.app_service_config_files) && config.app_service_config_files.length > 0)
    throw notMade(box, what, 'its application service reserves such names')
  const { registration_shared_secret: said } = config
  const known = typeof said === 'string' ? said : (await readBoxSecrets(box.project))?.registrationSharedSecret
  if (isRejected(registration, known)) throw notMade(box, what, rejected)
  const name = randomText(world.random, 10).toLowerCase()
  return { userId: `@tenantry-drill-${name}:${box.chatDomain}`, accessToken: `throw-away-${name}`, roomId: `!${name}:${box.chatDomain}` }
}

function assertChatUp(world: World, box: LocalBox, what: string): void {
  if (chatState(world, box.project.name) !== 'ready') throw notMade(box, what, 'the chat server does not answer')
}

/** Config of the chat server; empty when the file is missing. */
async function configOf({ project }: LocalBox): Promise<Record<string, unknown>> {
  return parse((await readIfThere(join(project.folder, 'synapse', 'homeserver.yaml'))) ?? '') ?? {}
}

/** Accepts any secret for an observed box, whose secrets are unknown. */
const isRejected = (input: Secret, known: string | undefined): boolean => known !== undefined && known !== input.reveal()

const rejected = 'the chat server rejects the secret'

const notMade = (box: LocalBox, what: string, why: string) => problem('PROBE_FAILED', `Cannot create ${what} of ${box.slug}: ${why}`)

/** Writing probe of a simulated box, directly and through its edge. */
async function probeSimulated(world: World, box: LocalBox, signal?: AbortSignal): Promise<ProbeResult> {
  await world.faults.linger('probeMs', signal)
  const { name } = box.project
  const database = databaseState(world, name)
  const chat = chatState(world, name)
  // Like the real probe: without edge listeners only the servers are probed.
  const edge = box.ports === null || runs(containerOf(world, name, 'edge')) ? undefined : 'the edge refuses connections'
  const broken = brokenBy(world, box)
  const chatError = chat === 'ready' ? edge : saying('the chat server', chat)
  const databaseError = database === 'ready' ? undefined : saying('the database', database)
  const objectsError = objectsState(world, name) === 'ready' ? edge : 'the object store does not answer'
  const errors: Record<ProbeComponent, string | undefined> = {
    chatApi: broken.has('chatApi') ? '500 from /versions' : chatError,
    chatSync: broken.has('chatSync') ? '500 on sending an event' : (chatError ?? databaseError),
    database: broken.has('database') ? 'the write was refused' : databaseError,
    objectStorage: broken.has('objectStorage') ? 'the upload failed' : objectsError,
  }
  if (!Object.values(errors).some(Boolean)) writeProbe(world, name)
  return result(world, errors, broken.size === 0 ? verdictOf(database, chat, objectsError) : 'failed')
}

const saying = (who: string, state: ServerState) =>
  state === 'absent' ? `${who} is not running` : state === 'upgrading' ? `${who} is upgrading its schema` : `${who} is starting`

const allComponents: readonly ProbeComponent[] = ['chatApi', 'chatSync', 'database', 'objectStorage']

function brokenBy(world: World, box: LocalBox): ReadonlySet<ProbeComponent> {
  const image = containerOf(world, box.project.name, 'synapse')?.image
  const isOpen = !existsSync(fenceFile(box.project))
  const at = { box: box.slug, ...(image === undefined ? {} : { image }) }
  const fault = world.faults.strike('probe-fails', at, ({ onceOpen = false }) => isOpen || !onceOpen)
  return new Set(fault ? (fault.components ?? allComponents) : [])
}

function verdictOf(database: ServerState, chat: ServerState, objectsError: string | undefined): ProbeResult['verdict'] {
  if (database === 'starting') return 'recovering'
  return chat === 'upgrading' && database === 'ready' && objectsError === undefined ? 'upgrading' : 'failed'
}

function result(world: World, errors: Record<ProbeComponent, string | undefined>, otherwise: ProbeResult['verdict']): ProbeResult {
  const first = allComponents.find((component) => errors[component] !== undefined)
  const component = (name: ProbeComponent) => {
    const error = errors[name]
    return { ok: error === undefined, ms: world.faults.draw('probeMs'), ...(error === undefined ? {} : { error }) }
  }
  return {
    at: isoNow(world.clock),
    verdict: first === undefined ? 'ok' : otherwise,
    components: {
      chatApi: component('chatApi'),
      chatSync: component('chatSync'),
      database: component('database'),
      objectStorage: component('objectStorage'),
    },
    ...(first === undefined ? {} : { reason: `${first}: ${errors[first]}` }),
  }
}

function writeProbe(world: World, project: string): void {
  const volume = containerOf(world, project, 'postgres')?.volumes[0]
  if (volume !== undefined) world.volumes.change(volume, { probes: world.volumes.read(volume).probes + 1 })
}
