import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type AuditEntry, type ChainHead, type ChainReport, type Checkpoint, chainStart, verifyChain } from '../../core/audit/index.ts'
import { pageOf } from '../../core/contract/index.ts'
import type { Db } from '../db/index.ts'
import { asEntry, chainNames, entriesAfter, headOf, noChain } from './audit.repo.ts'
import { type CheckpointDeps, checkpointAudit, checkpointsOf } from './checkpoint-audit.ts'
import { loadCheckpointKey, publicHalf } from './checkpoint-key.ts'

type Query = Readonly<{
  chain: string
  limit: number
  /** The `seq` of the last entry of the page before. */
  cursor?: number | undefined
  actor?: string | undefined
  action?: string | undefined
  subject?: string | undefined
  since?: string | undefined
  until?: string | undefined
}>

const filters = ['actor', 'action', 'subject'] as const

/** A page of a chain, newest first. A filter fits exactly, or by its beginning when it ends with `*`. */
export async function listAudit({ db }: { db: Db }, query: Query): Promise<{ entries: AuditEntry[]; nextCursor: string | null }> {
  let select = db.selectFrom('audit').selectAll().where('chain', '=', query.chain).orderBy('seq', 'desc')
  if (query.cursor) select = select.where('seq', '<', query.cursor)
  if (query.since) select = select.where('at', '>=', query.since)
  if (query.until) select = select.where('at', '<', query.until)
  for (const filter of filters) {
    const requested = query[filter]
    if (requested?.endsWith('*')) {
      const start = requested.slice(0, -1)
      select = select.where((where) => where(where.fn<string>('substr', [filter, where.lit(1), where.lit(start.length)]), '=', start))
    } else if (requested) select = select.where(filter, '=', requested)
  }
  const rows = await select.limit(query.limit + 1).execute()
  const { page, nextCursor } = pageOf(rows, query.limit, ({ seq }) => String(seq))
  return { entries: page.map(asEntry), nextCursor }
}

type Page = Readonly<{ chain: string; after: number; limit: number }>

/**
 * A page of a chain in order, with the current head. An export reads pages up to the head of the first page; later entries belong to the next
 * export. Throws NOT_FOUND for a chain without entries.
 */
export async function exportAudit(
  { db }: Readonly<{ db: Db }>,
  { chain, after, limit }: Page,
): Promise<{ chain: string; head: ChainHead; entries: AuditEntry[] }> {
  const head = await headOf(db, chain)
  const entries = await entriesAfter(db, chain, { after, limit })
  // A head that was taken away is for the proof to find; entries without one are given out all the same.
  if (head.seq === 0 && after === 0 && entries.length === 0) throw noChain(chain)
  return { chain, head, entries }
}

/** The newest are enough: each stands for all entries before it. */
const maxCheckpoints = 1000

type Signed = Readonly<{ keyId: string; publicKey: string; checkpoints: Checkpoint[] }>

/** The newest signed heads of a chain that this daemon's file holds, oldest first. */
export async function listCheckpoints(deps: CheckpointDeps, { chain }: { chain: string }): Promise<Signed> {
  const key = await loadCheckpointKey(deps.dataDir)
  const all = await checkpointsOf(deps)
  return { ...publicHalf(key), checkpoints: all.filter((one) => one.chain === chain).slice(-maxCheckpoints) }
}

/** Signs what is not signed yet, and answers the newest checkpoint of each chain. Throws NOT_FOUND for a chain without entries. */
export async function signCheckpoint(deps: CheckpointDeps, { chain }: { chain?: string | undefined }): Promise<Signed> {
  await checkpointAudit(deps, { chain })
  const key = await loadCheckpointKey(deps.dataDir)
  const newest = new Map((await checkpointsOf(deps)).map((one) => [one.chain, one]))
  const requested = chain === undefined ? [...newest.values()] : [newest.get(chain)].filter((one) => one !== undefined)
  if (chain !== undefined && requested.length === 0) throw noChain(chain)
  return { ...publicHalf(key), checkpoints: requested.toSorted((a, b) => (a.chain < b.chain ? -1 : 1)) }
}

export const auditPublicKey = async ({ dataDir }: Pick<CheckpointDeps, 'dataDir'>) => publicHalf(await loadCheckpointKey(dataDir))

const pageSize = 200

/**
 * Proves every chain (or one) from its first entry to its head at the time of the call, page by page, so that the daemon keeps answering.
 * Throws NOT_FOUND for one that has neither: nothing holds for want of entries.
 */
export async function verifyAudit({ db }: { db: Db }, { chain }: { chain?: string | undefined }): Promise<ChainReport[]> {
  const reports: ChainReport[] = []
  for (const name of chain === undefined ? await chainNames(db) : [chain]) reports.push(await verifyOne(db, name))
  // The creation of the first account is in the log of every installation.
  if (reports.length === 0) return [{ chain: 'admin', entries: 0, ok: false, brokenAt: 1, reason: 'the log is empty', head: chainStart }]
  if (chain !== undefined && reports.every(({ ok, entries }) => ok && entries === 0)) throw noChain(chain)
  return reports
}

async function verifyOne(db: Db, chain: string): Promise<ChainReport> {
  const head = await headOf(db, chain)
  const broken = (brokenAt: number, reason: string): ChainReport => ({ chain, entries: head.seq, ok: false, brokenAt, reason, head })
  let proved: ChainHead = chainStart
  while (proved.seq < head.seq) {
    const page = await entriesAfter(db, chain, { after: proved.seq, limit: Math.min(pageSize, head.seq - proved.seq) })
    if (page.length === 0) return broken(proved.seq + 1, `the log ends at entry ${proved.seq}, but its head names entry ${head.seq}`)
    const verdict = verifyChain(page, proved)
    if (!verdict.ok) return broken(verdict.brokenAt, verdict.reason)
    proved = verdict.head
    await yieldToEventLoop()
  }
  if (proved.hash !== head.hash) return broken(head.seq, 'the head does not belong to the last entry')
  const [beyond] = await entriesAfter(db, chain, { after: head.seq, limit: 1 })
  // Concurrent writes move the head too; an entry beyond the head is left over from a reset head.
  if (beyond && (await headOf(db, chain)).seq < beyond.seq)
    return broken(beyond.seq, head.seq === 0 ? 'the head is missing although there are entries' : `entry ${beyond.seq} follows the head`)
  return { chain, entries: head.seq, ok: true, head }
}
