import { auditHash, genesisHash } from '../../core/audit/index.ts'
import { type Actor, actorLabel, type Clock, isoNow } from '../../core/kit/index.ts'
import { forUpdate, type Tx } from '../db/index.ts'

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
  await tx
    .insertInto('audit_heads')
    .values({ chain, seq: 0, hash: genesisHash })
    .onConflict((c) => c.column('chain').doNothing())
    .execute()
  const head = await tx.selectFrom('audit_heads').selectAll().where('chain', '=', chain).modifyEnd(forUpdate(tx)).executeTakeFirstOrThrow()
  const plain = JSON.parse(JSON.stringify(data)) // as it will be read back: no undefined, no dates
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
  await tx
    .insertInto('audit')
    .values({ ...rest, data: JSON.stringify(plain), previous_hash: previousHash, hash })
    .execute()
  await tx.updateTable('audit_heads').set({ seq: content.seq, hash }).where('chain', '=', chain).execute()
}
