import { problem } from '../../core/kit/index.ts'
import type { BoxServers, LocalBox } from '../ports/index.ts'
import { beginBackup, beginForeignBackup, holdLog } from './backup.ts'
import { inspectBox } from './box-view.ts'
import { chatVersion, isListening, makeAccount, makeTemporaryAccount } from './chat.ts'
import { chatMark, writtenSince } from './chat-mark.ts'
import { applyMigration, databaseFacts } from './database-facts.ts'
import { dumpDatabase, dumpForeignDatabase } from './dump.ts'
import { adoptCopy, copyReady, foreignContent } from './foreign-database.ts'
import type { Origin } from './http.ts'
import { compareRows, finishDatabaseLoad, loadDatabase } from './load.ts'
import { sampleMedia } from './media.ts'
import { objectStoreVersion } from './objects.ts'
import { type BoxServersDeps, check, probe } from './probe.ts'
import { databaseVersion, querySql } from './sql.ts'
import { raiseStreams, streamPositions } from './streams.ts'
import { databaseUpgrades } from './upgrades.ts'

/** The servers of real boxes, over HTTP and programs in their containers. */
export function boxServers(deps: BoxServersDeps): BoxServers {
  const { engine } = deps
  return {
    probe: (box, signal) => probe(deps, box, signal),
    check: (box, writes, signal) => check(deps, { box, writes }, signal),
    chatAnswers: async (box) => {
      const { chat } = await inspectBox(engine, box)
      return chat !== undefined && (await isListening(chat))
    },
    serverVersions: (box) => serverVersions(deps, box),
    dumpDatabase: (box, folder, signal) => dumpDatabase({ engine, box }, folder, signal),
    dumpForeignDatabase: (source, dump, signal) => dumpForeignDatabase(engine, source, { ...dump, signal }),
    foreignContent: (source, slug, signal) => foreignContent(engine, source, { slug, signal }),
    beginForeignBackup: (source, { slug, name }, signal) => beginForeignBackup(engine, source, { slug, name, signal }),
    copyReady: (box, source) => copyReady({ engine, box }, source).catch(() => false),
    adoptCopy: (box, source, signal) => adoptCopy({ engine, box }, source, signal),
    compareRows: (box, expected, signal) => compareRows({ engine, box }, expected, signal),
    chatMark: (box, signal) => chatMark({ engine, box }, signal),
    writtenSince: (box, since, signal) => writtenSince({ engine, box }, since, signal),
    loadDatabase: (box, { folder, expected }, signal) => loadDatabase({ engine, box }, { folder, expected }, signal),
    finishDatabaseLoad: (box, expected, signal) => finishDatabaseLoad({ engine, box }, expected, signal),
    streamPositions: (box, signal) => streamPositions(engine, box, signal),
    raiseStreams: (box, past, signal) => raiseStreams({ engine, box }, past, signal),
    sampleMedia: (box, count, signal) => sampleMedia({ engine, box }, count, signal),
    createProbeAccount: (box, appserviceToken, signal) =>
      withChat({ ...deps, box, signal }, 'the probe user', (chat) => makeAccount(chat, { box, token: appserviceToken }, signal)),
    createTemporaryAccount: (box, registrationSecret, signal) =>
      withChat({ ...deps, box, signal }, 'a temporary user', (chat) => makeTemporaryAccount({ ...deps, signal }, chat, registrationSecret)),
    beginBackup: (box, name, signal) => beginBackup({ engine, box }, name, signal),
    holdLog: (box, name, signal) => holdLog({ engine, box }, name, signal),
    databaseBytes: async (box) => {
      const answer = await sql(deps, box, 'select pg_database_size(current_database());').catch(() => undefined)
      return /^[0-9]+$/.test(answer ?? '') ? Number(answer) : undefined
    },
    databaseFacts: (box) => databaseFacts(engine, box),
    applyMigration: (box, migration, signal) => applyMigration({ engine, box }, migration, signal),
    databaseReady: async (box) => {
      const answer = await sql(deps, box, 'select 1;').catch(() => undefined)
      return answer === '1'
    },
    upgrades: databaseUpgrades(engine),
  }
}

async function withChat<Made>(
  { engine, box, signal }: BoxServersDeps & Readonly<{ box: LocalBox; signal?: AbortSignal }>,
  what: string,
  make: (chat: Origin) => Promise<Made>,
): Promise<Made> {
  const { chat } = await inspectBox(engine, box)
  if (!chat) throw problem('PROBE_FAILED', `Synapse of ${box.slug} is not running`)
  return make(chat).catch((error: Error) => {
    signal?.throwIfAborted()
    throw problem('PROBE_FAILED', `Cannot create ${what} of ${box.slug}: ${error.message}`, { cause: error })
  })
}

/** Omits servers that do not run or never answered. */
async function serverVersions({ engine }: BoxServersDeps, box: LocalBox): Promise<Awaited<ReturnType<BoxServers['serverVersions']>>> {
  const view = await inspectBox(engine, box)
  const [synapse, postgres, minio] = await Promise.all([
    view.chat ? chatVersion(view.chat).catch(() => undefined) : undefined,
    databaseVersion(engine, view).catch(() => undefined),
    objectStoreVersion(engine, view).catch(() => undefined),
  ])
  return { ...(synapse ? { synapse } : {}), ...(postgres ? { postgres } : {}), ...(minio ? { minio } : {}) }
}

const sql = async ({ engine }: BoxServersDeps, box: LocalBox, text: string): Promise<string | undefined> =>
  querySql(engine, await inspectBox(engine, box), text)
