import { auditHash, genesisHash } from '../../core/audit/index.ts'
import { type Actor, actorLabel, type Clock, isoNow } from '../../core/kit/index.ts'
import { placesFor, prepared, type Tx } from '../db/index.ts'
import type { AuditTable } from './audit.tables.ts'

/** What is told: who did what to which thing. `data` never holds a secret. `chain` is `admin` unless a rollout keeps its own. */
type NewAuditEntry = Readonly<{
  actor: Actor
  action: string
  subject?: string
  data?: Readonly<Record<string, unknown>>
  chain?: string
}>

/**
 * Appends to the chain in the transaction of the act itself: neither exists without the other.
 * The head's row stays locked until the commit; call it last.
 */
export async function recordAudit(
  tx: Tx,
  clock: Clock,
  { actor, action, subject, data = {}, chain = 'admin' }: NewAuditEntry,
): Promise<void> {
  const { rows } = await lockHead(tx, { chain, hash: genesisHash })
  const head = rows[0] as Head
  const text = JSON.stringify(data)
  const plain = JSON.parse(text) // as it will be read back: no undefined, no dates
  const content = {
    chain,
    seq: Number(head.seq) + 1,
    at: isoNow(clock),
    actor: actorLabel(actor),
    action,
    subject: subject ?? null,
    data: plain,
    previousHash: head.hash,
  }
  const hash = auditHash(content)
  const { previousHash, ...rest } = content
  await insertEntry(tx, { ...rest, data: text, previous_hash: previousHash, hash })
  await moveHead(tx, { chain, seq: content.seq, hash })
}

type Head = Readonly<{ seq: number; hash: string }>

/** An update that changes nothing locks in both dialects, and answers what is there. */
const lockHead = prepared<{ chain: string; hash: string }, Head>((db, place) =>
  db
    .insertInto('audit_heads')
    .values({ chain: place('chain'), seq: 0, hash: place('hash') })
    .onConflict((conflict) => conflict.column('chain').doUpdateSet({ chain: place('chain') }))
    .returning(['seq', 'hash']),
)

const insertEntry = prepared<AuditTable, unknown>((db, place) => {
  const columns = ['chain', 'seq', 'at', 'actor', 'action', 'subject', 'data', 'previous_hash', 'hash'] as const
  return db.insertInto('audit').values(placesFor(place, columns))
})

const moveHead = prepared<Head & { chain: string }, unknown>((db, place) =>
  db
    .updateTable('audit_heads')
    .set({ seq: place('seq'), hash: place('hash') })
    .where('chain', '=', place('chain')),
)
