import { type Actor, type DeveloperActor, isoIn, isoNow, newId, type PlatformPrincipal, problem, sha256Hex } from '../../core/kit/index.ts'
import type { Developer, NewDeveloper } from '../../core/store/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, isUniqueViolation, type Tx } from '../db/index.ts'
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

/** Makes the user a developer. Throws FORBIDDEN for a code that is not valid, ALREADY_EXISTS. */
export async function registerDeveloper(deps: Deps, actor: PlatformPrincipal, { inviteCode, ...given }: NewDeveloper): Promise<Developer> {
  const { db, clock, random } = deps
  const row = {
    ...{ id: newId(random, 'dev'), tenant_id: actor.tenantId, user_id: actor.userId, ...given },
    ...{ verified: 0, created_at: isoNow(clock) },
  }
  const existing = await db.selectFrom('store_developers').select('id').where('user_id', '=', actor.userId).executeTakeFirst()
  if (existing) throw alreadyRegistered(existing.id)
  try {
    await db.transaction().execute(async (tx) => {
      await useInvite(tx, { code: inviteCode, by: row.id, now: row.created_at })
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

const alreadyRegistered = (as: string) => problem('ALREADY_EXISTS', `You are registered as a developer already (${as}).`)

type Use = Readonly<{ code: string; by: string; now: string }>

async function useInvite(tx: Tx, { code, by, now }: Use): Promise<void> {
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
