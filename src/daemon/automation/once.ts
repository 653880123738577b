import type { ExpressionBuilder, Kysely } from 'kysely'
import {
  type AutomationActor,
  type Clock,
  canonicalJson,
  isoIn,
  isoNow,
  newId,
  plural,
  problem,
  type Random,
  sha256Hex,
} from '../../core/kit/index.ts'
import type { Db, DbOrTx } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock; random: Random }>

const retentionMs = 24 * 60 * 60_000
/** Longer than any call takes. */
const lockMs = 2 * 60_000

export type ToolCall = Readonly<{
  actor: AutomationActor
  /** The name of the endpoint. */
  operation: string
  /** The header Idempotency-Key. */
  key: string | undefined
  /** The parameters of the path; null without any. */
  params: unknown
  body: unknown
}>

export type OneCall<Answer> = Readonly<{
  /** 32 hex digits, the same for a repeated call: for ids of what the call makes. */
  stableId: string
  /** Stores the answer in the transaction of the effect, for an effect that may not happen twice. */
  store(tx: DbOrTx, answer: Answer): Promise<void>
}>

/**
 * Runs a call once per Idempotency-Key, tenant and path with its parameters: within 24 hours the same key gets the same answer. A failed call is not remembered.
 * Throws KEY_REUSED (another request), CONFLICT (the first call still runs), VALIDATION (the form of the key).
 */
export async function oncePerKey<Answer>(deps: Deps, call: ToolCall, work: (one: OneCall<Answer>) => Promise<Answer>): Promise<Answer> {
  const { key } = call
  if (key === undefined) return work({ stableId: sha256Hex(newId(deps.random, 'call')).slice(0, 32), store: async () => undefined })
  if (!/^[!-~]{1,200}$/.test(key)) throw wrongKey()
  const row = rowOf(call, key)
  const earlier = await begin(deps, row)
  if (earlier !== undefined) return JSON.parse(earlier)
  try {
    const store = (tx: DbOrTx, answer: Answer) => finish(tx, row, JSON.stringify(answer))
    // Another request of this key, after a failure or a day later, makes something else.
    const stableId = sha256Hex(JSON.stringify([row.tenant_id, call.operation, row.key_hash, row.request_hash])).slice(0, 32)
    const answer = await work({ stableId, store })
    await store(deps.db, answer)
    return answer
  } catch (error) {
    await forget(deps.db, row)
    throw error
  }
}

type CallRow = Readonly<{ tenant_id: string; operation: string; key_hash: string; request_hash: string }>

const rowOf = ({ actor, operation, params, body }: ToolCall, key: string): CallRow => ({
  tenant_id: actor.tenantId,
  // One key may serve for calls of other tasks and events.
  operation: params === null ? operation : `${operation} ${canonicalJson(params)}`,
  key_hash: sha256Hex(key),
  request_hash: sha256Hex(canonicalJson([params, body])),
})

function wrongKey() {
  const reason = 'must be 1 to 200 visible ASCII characters without spaces'
  return problem('VALIDATION', `Idempotency-Key: ${reason}`, { details: [{ path: 'Idempotency-Key', reason }] })
}

/** Returns the answer of an earlier call; undefined if this call is to run. */
const begin = ({ db, clock }: Deps, row: CallRow): Promise<string | undefined> =>
  db.transaction().execute(async (tx) => {
    const times = { lock_until: isoIn(clock, lockMs), created_at: isoNow(clock) }
    await tx.deleteFrom('automation_calls').where(ofKey(row)).where('created_at', '<=', isoIn(clock, -retentionMs)).execute()
    const inserted = await tx
      .insertInto('automation_calls')
      .values({ ...row, ...times, answer: null })
      .onConflict((c) => c.doNothing())
      .executeTakeFirst()
    if (inserted.numInsertedOrUpdatedRows === 1n) return undefined
    const found = await tx.selectFrom('automation_calls').selectAll().where(ofKey(row)).executeTakeFirst()
    if (!found) throw stillRunning() // its call failed just now
    if (found.request_hash !== row.request_hash)
      throw problem('KEY_REUSED', 'This Idempotency-Key was used for another request. fix: send a new key')
    if (found.answer !== null) return found.answer
    const taken = await tx
      .updateTable('automation_calls')
      .set(times)
      .where(ofKey(row))
      .where('lock_until', '=', found.lock_until)
      .where('lock_until', '<=', isoNow(clock))
      .executeTakeFirst()
    if (taken.numUpdatedRows !== 1n) throw stillRunning()
    return undefined
  })

const stillRunning = () =>
  problem('CONFLICT', 'The first call with this Idempotency-Key has not finished. fix: repeat the call in a few seconds')

type Condition =
  Db extends Kysely<infer Tables extends { automation_calls: CallRow }> ? ExpressionBuilder<Tables, 'automation_calls'> : never

/** The condition of the primary key. */
const ofKey =
  ({ tenant_id, operation, key_hash }: CallRow) =>
  ({ and }: Condition) =>
    and({ tenant_id, operation, key_hash })

async function finish(db: DbOrTx, row: CallRow, answer: string): Promise<void> {
  await db.updateTable('automation_calls').set({ answer }).where(ofKey(row)).execute()
}

async function forget(db: Db, row: CallRow): Promise<void> {
  await db.deleteFrom('automation_calls').where(ofKey(row)).where('answer', 'is', null).execute()
}

/** Deletes calls of more than 24 hours ago. Returns a summary. */
export async function deleteOldCalls({ db, clock }: Pick<Deps, 'db' | 'clock'>): Promise<string> {
  const old = db.deleteFrom('automation_calls').where('created_at', '<=', isoIn(clock, -retentionMs))
  return plural(Number((await old.executeTakeFirst()).numDeletedRows), 'automation call')
}
