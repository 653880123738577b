import { auditHash, genesisHash } from '../../core/audit/index.ts'
import { type Actor, actorLabel, type Clock, isoNow } from '../../core/kit/index.ts'
import { nativeSha256Hex } from '../../node/index.ts'
import { forUpdate, type Tx } from '../db/index.ts'
import type { AuditTable } from './audit.tables.ts'

/** What is told: who did what to which thing. `data` never holds a secret. */
type Told = Readonly<{ actor: Actor; action: string; subject?: string; data?: Readonly<Record<string, unknown>> }>

/** `chain` is `admin` unless a rollout keeps its own. */
type NewAuditEntry = Told & Readonly<{ chain?: string }>

/**
 * Appends to the chain in the transaction of the act itself: neither exists without the other.
 * The head's row stays locked until the commit; call it last.
 */
export const recordAudit = (tx: Tx, clock: Clock, { chain = 'admin', ...told }: NewAuditEntry): Promise<void> =>
  recordAudits(tx, chain, [{ ...told, at: isoNow(clock) }])

export type DatedAct = Told & Readonly<{ at: string }>

/** The same for several acts of one transaction, which are not none, in their order. */
export async function recordAudits(tx: Tx, chain: string, acts: readonly DatedAct[]): Promise<void> {
  let head = await lockHead(tx, chain)
  const entries: AuditTable[] = []
  for (const act of acts) {
    const entry = entryAfter(head, chain, act)
    entries.push(entry)
    head = entry
  }
  await tx.insertInto('audit').values(entries).execute()
  await tx.updateTable('audit_heads').set({ seq: head.seq, hash: head.hash }).where('chain', '=', chain).execute()
}

function entryAfter(head: Head, chain: string, { actor, action, subject, data = {}, at }: DatedAct): AuditTable {
  const text = JSON.stringify(data)
  const content = {
    chain,
    seq: Number(head.seq) + 1,
    at,
    actor: actorLabel(actor),
    action,
    subject: subject ?? null,
    data: JSON.parse(text), // as it will be read back: no undefined, no dates
    previousHash: head.hash,
  }
  const { previousHash, ...rest } = content
  return { ...rest, data: text, previous_hash: previousHash, hash: auditHash(content, nativeSha256Hex) }
}

type Head = Readonly<{ seq: number; hash: string }>

/** Locks the head by reading it: an unchanged write would store a copy of the row. Only the first entry of a chain inserts a head. */
async function lockHead(tx: Tx, chain: string): Promise<Head> {
  const head = tx.selectFrom('audit_heads').select(['seq', 'hash']).where('chain', '=', chain).modifyEnd(forUpdate(tx))
  return (await head.executeTakeFirst()) ?? (await insertHead(tx, chain))
}

/** An update without a change locks the row in both dialects and returns it: another transaction may have inserted it meanwhile. */
const insertHead = (tx: Tx, chain: string): Promise<Head> =>
  tx
    .insertInto('audit_heads')
    .values({ chain, seq: 0, hash: genesisHash })
    .onConflict((conflict) => conflict.column('chain').doUpdateSet({ chain }))
    .returning(['seq', 'hash'])
    .executeTakeFirstOrThrow()
