import { z } from 'zod'
import {
  chatBlockers,
  type Dropped,
  databaseBlockers,
  droppedData,
  nameBlockers,
  serverNameIn,
  unusedWarnings,
  usesSqlite,
  warningsOf,
  workersOf,
} from './import-checks.ts'
import { whyDumped } from './import-copy.ts'
import { type ImportEvidence, isFound } from './import-evidence.ts'
import { type EffectiveSetting, effectiveSettings, type NoEffect, originText, type SettingContext, treatmentOf } from './import-settings.ts'

const text = z.string().max(500)
const texts = z.array(text).max(300)

/** Names of items that the box may lack. */
export const ImportDrops = z.array(z.string().min(1).max(300)).max(100)

/** `hot`: its files are copied while the stack serves. `dump`: it is dumped and loaded while the stack is stopped, for this reason. */
export const DatabaseCopy = z.object({ mode: z.enum(['hot', 'dump']), reason: text.optional() })
export type DatabaseCopy = z.infer<typeof DatabaseCopy>

/** The result of an import before it is done, with all reasons against it. Contains no secret and no value of a setting. */
export const ImportPlan = z.object({
  /** Nothing blocks the import. */
  ready: z.boolean(),
  found: z.object({
    chatServer: z.object({ container: text, version: text.nullable(), startedAt: text, configFiles: texts }).nullable(),
    serverName: text.nullable(),
    database: z
      .object({
        container: text,
        name: text,
        user: text,
        bytes: z.number(),
        version: text,
        schemaVersion: z.number().int().nullable(),
        connections: z.number().int(),
        rows: z.record(text, z.number()),
      })
      .nullable(),
    media: z.object({ path: text, bytes: z.number(), named: z.number(), checked: z.number(), missing: z.number() }).nullable(),
    objects: z.object({ container: text, bytes: z.number() }).nullable(),
    /** Addresses that the box takes over from the containers of the stack. */
    addresses: texts,
  }),
  /** Data, secrets and settings that the box gets; `origin` is a container, or a file and line. */
  carried: z.array(z.object({ kind: z.enum(['data', 'secret', 'setting']), name: text, origin: text })).max(300),
  /** Settings for which the box template has its own value, with their origin. */
  replaced: z.array(z.object({ name: text, origin: text })).max(300),
  /** Items that the box does not get, with the consequence for people. Each blocks the import until it is accepted by name. */
  dropped: z.array(z.object({ name: text, origins: texts, consequence: text, accepted: z.boolean() })).max(300),
  blockers: texts,
  warnings: texts,
  /** How the database is taken; missing from older agents, and without a database. */
  databaseCopy: DatabaseCopy.optional(),
  space: z.object({ neededBytes: z.number(), freeBytes: z.number(), mediaIsLinked: z.boolean() }),
  downtimeMs: z.number(),
})
export type ImportPlan = z.infer<typeof ImportPlan>

type Input = Readonly<{
  evidence: ImportEvidence
  /** The chat domain of the registered box. */
  chatDomain: string
  /** Versions that a new box gets. */
  versions: Readonly<{ synapse: string; postgres: string }>
  /** Accepted by name. */
  drop: readonly string[]
}>

export function planImport({ evidence, chatDomain, versions, drop }: Input): ImportPlan {
  const { chat, database, media, objects } = evidence
  const settings = [...effectiveSettings(isFound(chat) ? chat.config : []).values()]
  const of = treatedAs(settings, contextOf(evidence, settings))
  const dropped = mergeDropped([...of.dropped, ...droppedData(evidence)]).map((one) => ({
    ...one,
    origins: one.origins.map(clip),
    accepted: drop.includes(one.name),
  }))
  const space = spaceFor(evidence)
  const databaseCopy = isFound(database) ? copyOf(whyDumped(database, versions.postgres)) : undefined
  const blockers = [
    // A file as its database is in no server.
    ...[chat, ...(usesSqlite(settings) ? [] : [database]), media, ...(objects ? [objects] : [])].flatMap((part) =>
      'failure' in part && part.failure !== '' ? [part.failure] : [],
    ),
    ...of.blockers,
    ...(isFound(chat) ? chatBlockers(chat, versions.synapse) : []),
    ...(isFound(database) ? databaseBlockers(database, versions.postgres) : []),
    ...nameBlockers(evidence, settings, chatDomain),
    ...evidence.imageFaults,
    ...(space.freeBytes < space.neededBytes
      ? [
          `The import needs ${megabytes(space.neededBytes)} on the disk of the volumes; ${megabytes(space.freeBytes)} are free. fix: free disk space`,
        ]
      : []),
    ...drop
      .filter((name) => !dropped.some((one) => one.name === name))
      .map((name) => `--drop ${name} names nothing that would be left out. fix: remove it`),
    ...dropped
      .filter(({ accepted }) => !accepted)
      .map(({ name, origins, consequence }) => `${name} (${origins.join(', ')}) is not carried over: ${consequence}. fix: --drop ${name}`),
  ]
  return {
    ready: blockers.length === 0,
    found: foundIn(evidence, serverNameIn(settings)),
    carried: [...carriedData(evidence), ...of.carried],
    replaced: of.replaced,
    dropped,
    blockers: blockers.map(clip),
    warnings: [...warningsOf(evidence, settings), ...unusedWarnings(of.unused)].map(clip),
    ...(databaseCopy ? { databaseCopy } : {}),
    space,
    downtimeMs: downtimeOf(evidence, databaseCopy),
  }
}

const clip = (line: string): string => line.slice(0, 500)

function contextOf({ chat, database }: ImportEvidence, settings: readonly EffectiveSetting[]): SettingContext {
  const values = new Map(settings.map(({ key, value }) => [key, value]))
  return {
    valueOf: (key) => values.get(key),
    unread: isFound(chat) ? chat.unread : [],
    // Unknown without a database.
    hasRemoteMembers: !isFound(database) || database.remoteMembers > 0,
    hasWorkers: isFound(chat) && workersOf(chat).length > 0,
  }
}

function treatedAs(settings: readonly EffectiveSetting[], context: SettingContext) {
  const carried: ImportPlan['carried'] = []
  const replaced: ImportPlan['replaced'] = []
  const dropped: Dropped[] = []
  const blockers: string[] = []
  const unused: { why: NoEffect; setting: EffectiveSetting }[] = []
  for (const setting of settings) {
    const origin = originText(setting)
    for (const treatment of treatmentOf(setting, context)) {
      if (treatment.as === 'dropped')
        dropped.push({ name: treatment.name, origins: [`${setting.key} in ${origin}`], consequence: treatment.consequence })
      else if (treatment.as === 'blocker') blockers.push(`${setting.key} in ${origin}: ${treatment.reason}`)
      else if (treatment.as === 'unused') unused.push({ why: treatment.why, setting })
      else if (treatment.as === 'template') replaced.push({ name: setting.key, origin })
      else carried.push({ kind: treatment.as, name: setting.key, origin })
    }
  }
  return { carried, replaced, dropped, blockers, unused }
}

function mergeDropped(found: readonly Dropped[]): { name: string; origins: string[]; consequence: string }[] {
  const byName = new Map<string, { name: string; origins: string[]; consequence: string }>()
  for (const { name, origins, consequence } of found) {
    const known = byName.get(name)
    if (known) known.origins.push(...origins)
    else byName.set(name, { name, origins: [...origins], consequence })
  }
  return [...byName.values()]
}

function carriedData({ chat, database, media, objects }: ImportEvidence): ImportPlan['carried'] {
  const data = (name: string, origin: string) => ({ kind: 'data' as const, name, origin })
  return [
    ...(isFound(database) ? [data('database', `${database.name} in ${database.container}`)] : []),
    ...(isFound(media) ? [data('media', media.path)] : []),
    ...(objects && isFound(objects) ? [data('objects', `${objects.path} in ${objects.container}`)] : []),
    ...(isFound(chat) && chat.signingKeyId !== null ? [{ kind: 'secret' as const, name: 'signing key', origin: chat.signingKeyId }] : []),
    ...(isFound(chat) ? chat.otherSigningKeyIds.map((origin) => ({ kind: 'secret' as const, name: 'old signing key', origin })) : []),
  ]
}

function foundIn({ chat, database, media, objects, addresses }: ImportEvidence, serverName: string | null): ImportPlan['found'] {
  return {
    chatServer: isFound(chat)
      ? {
          container: chat.container,
          version: chat.version,
          startedAt: chat.startedAt,
          configFiles: [...new Set(chat.config.map(({ path }) => path))],
        }
      : null,
    serverName,
    database: isFound(database)
      ? (({ container, name, user, bytes, version, schemaVersion, connections, rows }) => ({
          ...{ container, name, user, bytes, version, schemaVersion, connections },
          rows: { ...rows },
        }))(database)
      : null,
    media: isFound(media)
      ? {
          path: media.path,
          bytes: media.bytes,
          named: media.named,
          checked: media.checked,
          missing: media.missing.length + media.damaged.length,
        }
      : null,
    objects: objects && isFound(objects) ? { container: objects.container, bytes: objects.bytes } : null,
    addresses: addresses.map(addressText),
  }
}

/** Left free for everything else. */
const reserveBytes = 512 * 1024 * 1024

/** A dump is at most as large as its database. */
function spaceFor({ database, media, objects, freeBytes }: ImportEvidence): ImportPlan['space'] {
  const databaseBytes = isFound(database) ? database.bytes : 0
  const mediaIsLinked = isFound(media) && media.isLinkable
  const mediaBytes = isFound(media) && !media.isLinkable ? media.bytes : 0
  const objectBytes = objects && isFound(objects) ? objects.bytes : 0
  return { neededBytes: 2 * databaseBytes + mediaBytes + objectBytes + reserveBytes, freeBytes, mediaIsLinked }
}

/** Slow disks: a dump and a load of the database read and write it once each; to count its rows it is read. */
const bytesPerMs = { dump: 15_000, load: 8_000, count: 100_000 } as const
/** Stop and start of the servers, and three good probes. */
const startMs = 30_000

function downtimeOf({ database }: ImportEvidence, copy: DatabaseCopy | undefined): number {
  const bytes = isFound(database) ? database.bytes : 0
  const takenMs = copy?.mode === 'hot' ? bytes / bytesPerMs.count : bytes / bytesPerMs.dump + bytes / bytesPerMs.load
  return Math.round(takenMs + startMs)
}

export const copyOf = (reason: string | undefined): DatabaseCopy =>
  reason === undefined ? { mode: 'hot' } : { mode: 'dump', reason: clip(reason) }

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`

const addressText = ({ address, port }: ImportEvidence['addresses'][number]): string => `${address === '' ? '*' : address}:${port}`
