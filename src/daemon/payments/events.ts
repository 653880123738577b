import { type Selectable, sql } from 'kysely'
import { pageEnd, pageOf, readPageEnd } from '../../core/contract/index.ts'
import { type Actor, isoIn, isoNow, problem } from '../../core/kit/index.ts'
import {
  isPaymentFailure,
  maxEventBytes,
  objectToRead,
  type PaymentEvent,
  type PaymentEventState,
  type ProviderEvent,
} from '../../core/payments/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type DbOrTx, deleteInBatches, forUpdate, newestFirst, type Tx } from '../db/index.ts'
import type { RawRequest } from '../http/index.ts'
import { enqueueEvent } from './apply-event.ts'
import type { PaymentsDeps } from './deps.ts'
import type { EventTable } from './payments.tables.ts'
import { orProblem } from './problems.ts'

type Deps = Pick<PaymentsDeps, 'db' | 'clock' | 'provider'>
type One = Readonly<{ id: string }>
type Received = Readonly<{ raw: Pick<RawRequest, 'readBody'>; signature: string }>

/**
 * Takes an event of the provider (spec 4.7): verifies it and stores it with its job; an event that was taken before changes nothing.
 * Throws VALIDATION, PAYLOAD_TOO_LARGE, PAYMENTS_UNAVAILABLE.
 */
export async function receiveEvent(deps: Deps, { raw, signature }: Received): Promise<{ received: true }> {
  const { db, clock } = deps
  const event = await verified(deps, { body: await raw.readBody(maxEventBytes), signature })
  const isUsed = objectToRead(event) !== null
  await db.transaction().execute(async (tx) => {
    const added = await tx
      .insertInto('payment_events')
      .values({
        ...{ id: event.id, type: event.type, endpoint: event.endpoint, object_kind: event.objectKind, object_id: event.objectId },
        ...{ livemode: event.livemode ? 1 : 0, event_at: event.createdAt, created_at: isoNow(clock) },
        ...(isUsed ? { outcome: null, applied_at: null } : { outcome: nothingToDo, applied_at: isoNow(clock) }),
      })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .executeTakeFirst()
    if (isUsed && (added.numInsertedOrUpdatedRows ?? 0n) > 0n) await enqueueEvent(tx, deps, event)
  })
  return { received: true }
}

async function verified({ provider, clock }: Deps, { body, signature }: Readonly<{ body: Uint8Array; signature: string }>) {
  return orProblem(async (): Promise<ProviderEvent> => {
    try {
      return provider.verifyEvent({ body, signature, now: clock.now() })
    } catch (error) {
      if (isPaymentFailure(error, 'invalid'))
        throw problem('VALIDATION', `${error.message}. fix: check TENANTRY_STRIPE_WEBHOOK_SECRETS and the clock of this machine`)
      throw error
    }
  })
}

const nothingToDo = 'nothing to do'

type Row = Selectable<EventTable>

const viewOf = (row: Row): PaymentEvent => ({
  ...{ id: row.id, type: row.type, endpoint: row.endpoint, objectKind: row.object_kind, objectId: row.object_id },
  ...{ livemode: row.livemode === 1, eventAt: row.event_at, createdAt: row.created_at },
  ...{ state: row.applied_at === null ? 'waiting' : 'applied', outcome: row.outcome, appliedAt: row.applied_at },
})

type Query = Readonly<{ limit: number; cursor?: string | undefined; state?: PaymentEventState | undefined; type?: string | undefined }>

/** A page of events, newest first. Throws VALIDATION for an invalid cursor. */
export async function listEvents({ db }: Pick<Deps, 'db'>, { limit, cursor, state, type }: Query) {
  const after = cursor === undefined ? undefined : readPageEnd(cursor)
  let query = db.selectFrom('payment_events').selectAll()
  if (type !== undefined) query = query.where('type', '=', type)
  if (state !== undefined) query = query.where('applied_at', state === 'waiting' ? 'is' : 'is not', null)
  const found = (await newestFirst(query, { after, limit: limit + 1 }).execute()).map(viewOf)
  const { page, nextCursor } = pageOf(found, limit, pageEnd)
  return { events: page, nextCursor }
}

async function existing(db: DbOrTx, { id }: One, locked = false): Promise<Row> {
  const query = db.selectFrom('payment_events').selectAll().where('id', '=', id)
  const row = await (locked ? query.modifyEnd(forUpdate(db as Tx)) : query).executeTakeFirst()
  if (!row) throw problem('NOT_FOUND', `Event ${id} does not exist or is older than 90 days. fix: \`tenantry webhooks list\``)
  return row
}

/** Throws NOT_FOUND. */
export const showEvent = async ({ db }: Pick<Deps, 'db'>, one: One): Promise<PaymentEvent> => viewOf(await existing(db, one))

/** Applies an event again. Throws NOT_FOUND. */
export const replayEvent = ({ db, clock }: Pick<Deps, 'db' | 'clock'>, actor: Actor, { id }: One): Promise<PaymentEvent> =>
  db.transaction().execute(async (tx) => {
    const row = await existing(tx, { id }, true)
    await tx.updateTable('payment_events').set({ outcome: null, applied_at: null }).where('id', '=', id).execute()
    await enqueueEvent(tx, { clock }, { id, objectId: row.object_id })
    await recordAudit(tx, clock, { actor, action: 'payment.event-replayed', subject: id, data: { type: row.type } })
    return viewOf({ ...row, outcome: null, applied_at: null })
  })

const keptMs = 90 * 24 * 60 * 60_000

/** Deletes events that the provider does not send again. */
export async function deleteOldEvents({ db, clock }: Pick<Deps, 'db' | 'clock'>, signal: AbortSignal): Promise<string> {
  const deleted = await deleteInBatches(db, { table: 'payment_events', where: sql`created_at < ${isoIn(clock, -keptMs)}`, signal })
  return `${deleted} payment events deleted`
}
