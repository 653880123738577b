import { isHostPathWord } from '../../core/hosts/index.ts'
import { type Actor, type Clock, isoIn, isoNow, problem, type Random, sha256Hex } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import type { Db } from '../db/index.ts'
import { findHostByName } from './host.repo.ts'

const inviteMs = 15 * 60_000

/** 32 random bytes that enrol one agent under this name; only their hash is kept. An older invitation for the name ends. Throws ALREADY_EXISTS; VALIDATION for a word of paths. */
export async function inviteHost(
  { db, clock, random }: { db: Db; clock: Clock; random: Random },
  actor: Actor,
  { name }: { name: string },
) {
  const token = Buffer.from(random.bytes(32)).toString('base64url')
  const expiresAt = isoIn(clock, inviteMs)
  await db.transaction().execute(async (tx) => {
    const former = await findHostByName(tx, name)
    if (!former && isHostPathWord(name)) throw notFree(name)
    if (former?.status === 'active')
      throw problem('ALREADY_EXISTS', `${name} is enrolled: choose another name, or \`tenantry hosts revoke ${name} --reason '…'\` first`)
    await tx.deleteFrom('host_invites').where('host_name', '=', name).where('used_at', 'is', null).execute()
    await tx
      .insertInto('host_invites')
      .values({
        token_sha256: sha256Hex(token),
        host_name: name,
        created_at: isoNow(clock),
        expires_at: expiresAt,
        used_at: null,
        used_by_key_id: null,
      })
      .execute()
    await recordAudit(tx, clock, { actor, action: 'host.invited', subject: name, data: { expiresAt } })
  })
  return { token, name, expiresAt }
}

function notFree(name: string) {
  const reason = `${name} is a word of the interface: choose another`
  return problem('VALIDATION', `name: ${reason}`, { details: [{ path: 'name', reason }] })
}

/** For the nightly clean-up: invitations that ended, used or not. Returns how many. */
export async function deleteEndedInvites({ db, clock }: { db: Db; clock: Clock }): Promise<number> {
  const gone = await db.deleteFrom('host_invites').where('expires_at', '<=', isoNow(clock)).executeTakeFirst()
  return Number(gone.numDeletedRows)
}
