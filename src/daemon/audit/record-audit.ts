import { auditHash, genesisHash } from '../../core/audit/index.ts'
import { type Actor, actorLabel, type Clock, isoNow } from '../../core/kit/index.ts'
import { nativeSha256Hex } from '../../node/index.ts'
import { forUpdate, prepared, preparedRows, type Tx } from '../db/index.ts'
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
  let head = await lockedHead(tx, chain)
  const entries: AuditTable[] = []
  for (const act of acts) {
    const entry = entryAfter(head, chain, act)
    entries.push(entry)
    head = entry
  }
  await insertEntries(tx, entries)
  await moveHead(tx, { chain, seq: head.seq, hash: head.hash })
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

/** Nearly every chain has one, which is locked by reading it: of a row that is written as it was a copy is stored. */
async function lockedHead(tx: Tx, chain: string): Promise<Head> {
  const [known] = (await lockHead(tx, { chain })).rows
  return known ?? ((await beginHead(tx, { chain, hash: genesisHash })).rows[0] as Head)
}

const lockHead = prepared<{ chain: string }, Head>((db, place) =>
  db.selectFrom('audit_heads').select(['seq', 'hash']).where('chain', '=', place('chain')).modifyEnd(forUpdate(db)),
)

/** An update that changes nothing locks in both dialects, and answers what is there: another may have begun it meanwhile. */
const beginHead = prepared<{ chain: string; hash: string }, Head>((db, place) =>
  db
    .insertInto('audit_heads')
    .values({ chain: place('chain'), seq: 0, hash: place('hash') })
    .onConflict((conflict) => conflict.column('chain').doUpdateSet({ chain: place('chain') }))
    .returning(['seq', 'hash']),
)

const insertEntries = preparedRows<AuditTable>(
  ['chain', 'seq', 'at', 'actor', 'action', 'subject', 'data', 'previous_hash', 'hash'],
  (db, rows) => db.insertInto('audit').values([...rows]),
)

const moveHead = prepared<Head & { chain: string }, unknown>((db, place) =>
  db
    .updateTable('audit_heads')
    .set({ seq: place('seq'), hash: place('hash') })
    .where('chain', '=', place('chain')),
)
