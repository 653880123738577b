import { problem } from '../../core/kit/index.ts'
import type { BoxInside, LocalBox } from '../ports/index.ts'
import { viewBox } from './box-view.ts'
import { chatVersion, makeAccount } from './chat.ts'
import { dumpDatabase } from './dump.ts'
import { loadDatabase } from './load.ts'
import { objectStoreVersion } from './objects.ts'
import { type InsideNeeds, probe } from './probe.ts'
import { askSql } from './sql.ts'

/** The insides of real boxes, by HTTP to their servers and programs in their containers. */
export function boxInside(needs: InsideNeeds): BoxInside {
  const { engine } = needs
  return {
    probe: (box, signal) => probe(needs, box, signal),
    serverVersions: (box) => serverVersions(needs, box),
    dumpDatabase: (box, folder, signal) => dumpDatabase(engine, box, folder, signal),
    loadDatabase: (box, folder, expected, signal) => loadDatabase(engine, box, folder, expected, signal),
    createProbeAccount: async (box, appserviceToken, signal) => {
      const { chat } = await viewBox(engine, box)
      if (!chat) throw problem('PROBE_FAILED', `the chat server of ${box.slug} does not run`)
      return makeAccount(chat, box, appserviceToken, signal).catch((error: Error) => {
        throw problem('PROBE_FAILED', `the probe user of ${box.slug} could not be made: ${error.message}`, { cause: error })
      })
    },
    databaseBytes: async (box) => {
      const answer = await sql(needs, box, 'select pg_database_size(current_database());').catch(() => undefined)
      return /^[0-9]+$/.test(answer ?? '') ? Number(answer) : undefined
    },
    databaseReady: async (box) => {
      const answer = await sql(needs, box, 'select 1;').catch(() => undefined)
      return answer === '1'
    },
  }
}

/** A server that does not answer has no version; that is no failure of the question. */
async function serverVersions(needs: InsideNeeds, box: LocalBox): Promise<Awaited<ReturnType<BoxInside['serverVersions']>>> {
  const view = await viewBox(needs.engine, box)
  const [synapse, postgres, minio] = await Promise.all([
    view.chat ? chatVersion(view.chat).catch(() => undefined) : undefined,
    sql(needs, box, 'show server_version;').catch(() => undefined),
    objectStoreVersion(needs.engine, view).catch(() => undefined),
  ])
  return { ...(synapse ? { synapse } : {}), ...(postgres ? { postgres } : {}), ...(minio ? { minio } : {}) }
}

const sql = async ({ engine }: InsideNeeds, box: LocalBox, text: string): Promise<string | undefined> =>
  askSql(engine, await viewBox(engine, box), text)
