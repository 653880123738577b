import {
  type Actor,
  type DeveloperActor,
  isoIn,
  isoNow,
  newId,
  type PlatformPrincipal,
  problem,
  sha256Hex,
} from '../../../core/kit/index.ts'
import type { Developer, NewDeveloper } from '../../../core/store/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { type Db, forUpdate, isUniqueViolation, type Tx } from '../../db/index.ts'
import type { StoreDeps } from './deps.ts'
import type { StoreDeveloperTable } from './store.tables.ts'

type Deps = Pick<StoreDeps, 'db' | 'clock' | 'random'>

const inviteMs = 30 * 86_400_000

/** Creates an invite code; only its hash is stored. */
export async function createInvite({ db, clock, random }: Deps, actor: Actor, createdBy: string) {
  const code = `sti_${Buffer.from(random.bytes(24)).toString('base64url')}`
  const expiresAt = isoIn(clock, inviteMs)
  await db.transaction().execute(async (tx) => {
    const row = { code_hash: sha256Hex(code), created_by: createdBy, created_at: isoNow(clock), expires_at: expiresAt }
    await tx
      .insertInto('store_invites')
      .values({ ...row, used_at: null, used_by: null })
      .execute()
    await recordAudit(tx, clock, { actor, action: 'store.invite-created', data: { expiresAt } })
  })
  return { code, expiresAt }
}

export const developerOf = ({ id, email, name, organization, verified }: StoreDeveloperTable): Developer => ({
  ...{ id, email, name, organization },
  verified: Number(verified) === 1,
})

/** Makes the user a developer. Throws FORBIDDEN where registration is closed or the code is not valid, ALREADY_EXISTS. */
export async function registerDeveloper(
  deps: Deps & Pick<StoreDeps, 'registration'>,
  actor: PlatformPrincipal,
  { inviteCode = '', ...input }: NewDeveloper,
): Promise<Developer> {
  const { db, clock, random, registration } = deps
  const row = {
    ...{ id: newId(random, 'dev'), tenant_id: actor.tenantId, user_id: actor.userId, ...input },
    ...{ verified: 0, created_at: isoNow(clock) },
  }
  const existing = await db.selectFrom('store_developers').select('id').where('user_id', '=', actor.userId).executeTakeFirst()
  if (existing) throw alreadyRegistered(existing.id)
  if (registration === 'closed') throw problem('FORBIDDEN', 'This platform accepts no new developers (setting store.registration).')
  try {
    await db.transaction().execute(async (tx) => {
      if (registration === 'invite') await spendInvite(tx, { code: inviteCode, by: row.id, now: row.created_at })
      await tx.insertInto('store_developers').values(row).execute()
      const data = { developerId: row.id, userId: actor.userId }
      await recordAudit(tx, clock, { actor, action: 'store.developer-registered', subject: actor.tenantSlug, data })
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw alreadyRegistered('another call of yours')
  }
  return developerOf(row)
}

const alreadyRegistered = (as: string) =>
  problem(
    'ALREADY_EXISTS',
    `You are registered as a developer already (${as}). fix: send this id, with \`tenantry modules submit --developer ${as}\``,
  )

type Use = Readonly<{ code: string; by: string; now: string }>

async function spendInvite(tx: Tx, { code, by, now }: Use): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('store_invites')
    .set({ used_at: now, used_by: by })
    .where('code_hash', '=', sha256Hex(code))
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n)
    throw problem('FORBIDDEN', 'The invite code is unknown, used or expired. fix: ask the operator of the platform for a new one')
}

/** Marks a developer as verified, or not; again changes nothing. Throws NOT_FOUND, FORBIDDEN for the own account. */
export const verifyDeveloper = (
  { db, clock }: Pick<StoreDeps, 'db' | 'clock'>,
  actor: Actor,
  { id, verified }: Readonly<{ id: string; verified: boolean }>,
): Promise<Developer> =>
  db.transaction().execute(async (tx) => {
    const row = await tx.selectFrom('store_developers').selectAll().where('id', '=', id).modifyEnd(forUpdate(tx)).executeTakeFirst()
    if (!row) throw problem('NOT_FOUND', `Developer ${id} does not exist. fix: the id is in tenantry reviews show <submission>`)
    if (actor.kind === 'user' && row.user_id === actor.userId)
      throw problem('FORBIDDEN', 'You cannot verify your own account. fix: ask another reviewer')
    if (developerOf(row).verified === verified) return developerOf(row)
    const changed = { ...row, verified: verified ? 1 : 0 }
    await tx.updateTable('store_developers').set({ verified: changed.verified }).where('id', '=', id).execute()
    const action = verified ? 'store.developer-verified' : 'store.developer-unverified'
    await recordAudit(tx, clock, { actor, action, subject: id })
    return developerOf(changed)
  })

/** The developer account that a header names, if it is one of the user. The answer is the same for an account of another user. */
export const authenticateDeveloper =
  ({ db }: Readonly<{ db: Db }>) =>
  async (user: PlatformPrincipal, developerId: string | undefined): Promise<DeveloperActor> => {
    const own = await db
      .selectFrom('store_developers')
      .select('id')
      .where('user_id', '=', user.userId)
      .where('tenant_id', '=', user.tenantId)
      .executeTakeFirst()
    if (own === undefined || own.id !== developerId)
      throw problem('FORBIDDEN', 'X-Developer-Id must name your developer account. fix: POST /api/platform/v1/store/developer/register')
    return { ...user, developerId: own.id }
  }
