import { auditHash, genesisHash } from '../../core/audit/index.ts'
import { type Actor, actorLabel, type Clock, isoNow } from '../../core/kit/index.ts'
import { nativeSha256Hex } from '../../node/index.ts'
import { forUpdate, type Tx } from '../db/index.ts'

/** `chain` is `admin` unless a rollout has its own. `data` never holds a secret. */
type NewAuditEntry = Readonly<{
  actor: Actor
  action: string
  subject?: string
  data?: Readonly<Record<string, unknown>>
  chain?: string
}>

/**
 * Appends an entry in the transaction of the act itself: neither exists without the other.
 * The head's row stays locked until the commit; call it last.
 */
export async function recordAudit(tx: Tx, clock: Clock, { chain = 'admin', ...act }: NewAuditEntry): Promise<void> {
  const { actor, action, subject, data = {} } = act
  const head = await lockHead(tx, chain)
  const text = JSON.stringify(data)
  const content = {
    chain,
    seq: Number(head.seq) + 1,
    at: isoNow(clock),
    actor: actorLabel(actor),
    action,
    subject: subject ?? null,
    data: JSON.parse(text), // as a reader will get it: no undefined, no dates
    previousHash: head.hash,
  }
  const { previousHash, ...entry } = content
  const hash = auditHash(content, nativeSha256Hex)
  await tx
    .insertInto('audit')
    .values({ ...entry, data: text, previous_hash: previousHash, hash, about: subject?.split('/', 1)[0] ?? null })
    .execute()
  await tx.updateTable('audit_heads').set({ seq: entry.seq, hash }).where('chain', '=', chain).execute()
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
