import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type ChainHead, type ChainReport, chainStart, verifyChain } from '../../core/audit/index.ts'
import type { Db } from '../db/index.ts'
import { chainNames, entriesAfter, headOf, noChain } from './audit.repo.ts'

const pageSize = 200

/**
 * Proves every chain (or one) from its first entry to the head that it had when asked, page by page: the daemon goes on answering meanwhile.
 * Throws NOT_FOUND for one that has neither: nothing holds for want of entries.
 */
export async function verifyAudit({ db }: { db: Db }, { chain }: { chain?: string | undefined }): Promise<ChainReport[]> {
  const reports: ChainReport[] = []
  for (const name of chain === undefined ? await chainNames(db) : [chain]) reports.push(await verifyOne(db, name))
  if (chain !== undefined && reports.every(({ ok, entries }) => ok && entries === 0)) throw noChain(chain)
  return reports
}

async function verifyOne(db: Db, chain: string): Promise<ChainReport> {
  const head = await headOf(db, chain)
  const broken = (brokenAt: number, reason: string): ChainReport => ({ chain, entries: head.seq, ok: false, brokenAt, reason, head })
  let proved: ChainHead = chainStart
  while (proved.seq < head.seq) {
    const page = await entriesAfter(db, chain, proved.seq, Math.min(pageSize, head.seq - proved.seq))
    if (page.length === 0) return broken(proved.seq + 1, `the log ends at entry ${proved.seq}, its head says ${head.seq}`)
    const verdict = verifyChain(page, proved)
    if (!verdict.ok) return broken(verdict.brokenAt, verdict.reason)
    proved = verdict.head
    await yieldToEventLoop()
  }
  if (proved.hash !== head.hash) return broken(head.seq, 'the head does not belong to the last entry')
  const [beyond] = await entriesAfter(db, chain, head.seq, 1)
  // What is written meanwhile moves the head with it; an entry that no head counts was left over when somebody set it back.
  if (beyond && (await headOf(db, chain)).seq < beyond.seq)
    return broken(beyond.seq, head.seq === 0 ? 'there are entries, but the head is gone' : `entry ${beyond.seq} stands after the head`)
  return { chain, entries: head.seq, ok: true, head }
}
