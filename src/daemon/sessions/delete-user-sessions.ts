import { sha256Hex } from '../../core/kit/index.ts'
import { lockSubject } from '../../core/sessions/index.ts'
import type { Db } from '../db/index.ts'

type ErasedUser = Readonly<{ id: string; tenantId: string; localpart: string }>

/** Deletes the ended sessions of an erased user, with its login failures and the networks it logged in from. */
export const deleteUserSessions = (db: Db, { id, tenantId, localpart }: ErasedUser): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const ended = tx.selectFrom('sessions').select('id').where('user_id', '=', id).where('ended_at', 'is not', null)
    await tx.deleteFrom('refresh_tokens').where('session_id', 'in', ended).execute()
    await tx.deleteFrom('sessions').where('user_id', '=', id).where('ended_at', 'is not', null).execute()
    const subject = sha256Hex(lockSubject({ id: tenantId }, '', localpart))
    await tx.deleteFrom('user_login_failures').where('subject', '=', subject).execute()
    await tx.deleteFrom('user_login_networks').where('subject', '=', subject).execute()
  })
