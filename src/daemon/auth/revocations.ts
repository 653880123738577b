import pLimit from 'p-limit'
import { type Clock, isoIn, isoNow } from '../../core/kit/index.ts'
import { type Db, nextSeq, type Tx } from '../db/index.ts'
import type { Loop } from '../feature/index.ts'

/**
 * Something that replicas may hold in memory and must look at again: a session, an account with all of its sessions, an API token; of tenants a
 * user's session, a user with all of theirs, or the whole tenant; a space that a user has left.
 */
export type Revoked = Readonly<{
  kind: 'admin-session' | 'admin-account' | 'api-token' | 'user-session' | 'user' | 'tenant' | 'space'
  subject: string
}>

export type Revocations = Readonly<{
  /** Rises whenever something was revoked: what was read before it rose must not be kept. */
  position(): number
  /** False when the last good read began more than a second ago: then memory proves nothing and the database is asked. */
  fresh(): boolean
  /** Reads what came since; for the replica that revoked something itself. */
  readNow(): Promise<void>
  /** Until the listener is forgotten by what is returned. */
  onRevoked(listener: (revoked: Revoked | 'everything') => void): () => void
}>

type Deps = Readonly<{ db: Db; clock: Clock }>

const stream = 'revocations'
const readEveryMs = 500
const staleAfterMs = 1000

/**
 * Tells every replica within a second, in the transaction of the change. All tenants share its counter, which is held until the commit: call it after
 * the events, whose counter is the tenant's own and may be waited for, and right before the audit entry.
 */
export async function publishRevocation(tx: Tx, clock: Clock, { kind, subject }: Revoked): Promise<void> {
  const seq = await nextSeq(tx, stream)
  await tx
    .insertInto('revocations')
    .values({ seq, kind, subject, created_at: isoNow(clock) })
    .execute()
}

const retentionMs = 24 * 60 * 60_000

/** A replica that was disconnected for longer drops its whole cache. */
export async function deleteOldRevocations(tx: Tx, clock: Clock): Promise<void> {
  await tx.deleteFrom('revocations').where('created_at', '<=', isoIn(clock, -retentionMs)).execute()
}

/** Opens the revocations of this replica, which the feature's loop reads. While that fails, each request reads the database. */
export async function openRevocations({ db, clock }: Deps): Promise<Revocations> {
  const listeners = new Set<(revoked: Revoked | 'everything') => void>()
  const publish = (revoked: Revoked | 'everything') => {
    for (const listener of listeners) listener(revoked)
  }
  let position = await lastSeq(db)
  let readAt = clock.monotonicMs()
  const oneAtATime = pLimit(1)
  const fresh = () => clock.monotonicMs() - readAt <= staleAfterMs

  const read = async () => {
    const begun = clock.monotonicMs()
    const rows = await db.selectFrom('revocations').selectAll().where('seq', '>', position).orderBy('seq').execute()
    // After a gap, rows may have been cleaned away unseen.
    if (!fresh()) publish('everything')
    for (const { kind, subject } of rows) publish({ kind, subject } as Revoked)
    position = Number(rows.at(-1)?.seq ?? position)
    readAt = begun
  }
  // One read at a time, and each begins after it was asked for.
  const readNow = () => oneAtATime(read)
  const onRevoked: Revocations['onRevoked'] = (listener) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return { position: () => position, fresh, readNow, onRevoked }
}

export const revocationLoop = ({ readNow }: Revocations): Loop => ({ name: 'read revocations', everyMs: readEveryMs, run: readNow })

async function lastSeq(db: Db): Promise<number> {
  const row = await db.selectFrom('streams').select('seq').where('stream', '=', stream).executeTakeFirst()
  return Number(row?.seq ?? 0)
}
