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
import { type Db, type DbOrTx, whileRenewed } from '../db/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock; random: Random }>

const retentionMs = 24 * 60 * 60_000
/** A call of a daemon that died may be repeated after this time. What it does twice has the same effect. */
const lockMs = 20_000

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
  /**
   * Stores the answer in the transaction of the effect, for an effect that may not happen twice. Throws CONFLICT, which rolls the effect back, if
   * the call stalled and was taken over.
   */
  store(tx: DbOrTx, answer: Answer): Promise<void>
}>

/**
 * Runs a call once per Idempotency-Key, tenant and path with its parameters: within 24 hours of the first call the same key gets the same
 * answer, later it is a new call. A failed call may be repeated, also with another request. Throws KEY_REUSED (another request), CONFLICT (the
 * first call still runs), VALIDATION (the form of the key).
 */
export async function oncePerKey<Answer>(deps: Deps, call: ToolCall, work: (one: OneCall<Answer>) => Promise<Answer>): Promise<Answer> {
  const { key } = call
  if (key === undefined) return work({ stableId: sha256Hex(newId(deps.random, 'call')).slice(0, 32), store: async () => undefined })
  if (!/^[!-~]{1,200}$/.test(key)) throw wrongKey()
  const row = rowOf(call, key)
  const { answer: earlier, since } = await begin(deps, row)
  if (earlier !== null) return JSON.parse(earlier)
  try {
    const store = async (tx: DbOrTx, answer: Answer) => {
      if (!(await finish(tx, row, JSON.stringify(answer)))) throw stillRunning()
    }
    // Another request of this key, after a failure or a day later, makes something else.
    const stableId = sha256Hex(JSON.stringify([row.tenant_id, call.operation, row.key_hash, row.request_hash, since])).slice(0, 32)
    const renew = () => setLock(deps, row, lockMs)
    const answer = await whileRenewed({ clock: deps.clock, ttlMs: lockMs, renew }, () => work({ stableId, store }))
    await finish(deps.db, row, JSON.stringify(answer)) // unless the effect stored it
    return answer
  } catch (error) {
    await setLock(deps, row, 0) // the next call with the key runs
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

/** The answer of an earlier call, or null if this call is to run. `since`: when a call with this request first began. */
type Begun = Readonly<{ answer: string | null; since: string }>

const begin = ({ db, clock }: Deps, row: CallRow): Promise<Begun> =>
  db.transaction().execute(async (tx) => {
    const [now, until] = [isoNow(clock), isoIn(clock, lockMs)]
    await tx.deleteFrom('automation_calls').where(ofKey(row)).where('created_at', '<=', isoIn(clock, -retentionMs)).execute()
    const inserted = await tx
      .insertInto('automation_calls')
      .values({ ...row, lock_until: until, created_at: now, answer: null })
      .onConflict((c) => c.doNothing())
      .executeTakeFirst()
    if (inserted.numInsertedOrUpdatedRows === 1n) return { answer: null, since: now }
    const found = await tx.selectFrom('automation_calls').selectAll().where(ofKey(row)).executeTakeFirst()
    if (!found) throw stillRunning() // it expired just now
    const isSame = found.request_hash === row.request_hash
    const isFree = found.answer === null && found.lock_until <= now
    if (!isSame && !isFree) throw problem('KEY_REUSED', 'This Idempotency-Key was used for another request. fix: send a new key')
    if (found.answer !== null) return { answer: found.answer, since: found.created_at }
    // A repeated request keeps the time of the first: what that one made has ids of it.
    const since = isSame ? found.created_at : now
    const taken = await tx
      .updateTable('automation_calls')
      .set({ request_hash: row.request_hash, lock_until: until, created_at: since })
      .where(ofKey(row))
      .where('lock_until', '=', found.lock_until)
      .where('lock_until', '<=', now)
      .executeTakeFirst()
    if (taken.numUpdatedRows !== 1n) throw stillRunning()
    return { answer: null, since }
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

/** False when the call has an answer, or another request took its key. */
async function finish(db: DbOrTx, row: CallRow, answer: string): Promise<boolean> {
  const unanswered = db.updateTable('automation_calls').set({ answer }).where(ofKey(row)).where('answer', 'is', null)
  return (await unanswered.where('request_hash', '=', row.request_hash).executeTakeFirst()).numUpdatedRows > 0n
}

/** Until `ms` from now no other call with the key runs, unless this one has its answer. False when it was answered or taken over. */
async function setLock({ db, clock }: Deps, row: CallRow, ms: number): Promise<boolean> {
  const locked = db
    .updateTable('automation_calls')
    .set({ lock_until: isoIn(clock, ms) })
    .where(ofKey(row))
  const { numUpdatedRows } = await locked.where('request_hash', '=', row.request_hash).where('answer', 'is', null).executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Deletes calls of more than 24 hours ago. Returns a summary. */
export async function deleteOldCalls({ db, clock }: Pick<Deps, 'db' | 'clock'>): Promise<string> {
  const old = db.deleteFrom('automation_calls').where('created_at', '<=', isoIn(clock, -retentionMs))
  return plural(Number((await old.executeTakeFirst()).numDeletedRows), 'automation call')
}
