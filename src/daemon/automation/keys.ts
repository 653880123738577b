import type { AutomationKey } from '../../core/automation/index.ts'
import { type Actor, actorLabel, type Clock, isoIn, isoNow, newId, problem, type Random, sha256Hex } from '../../core/kit/index.ts'
import { recordAudit } from '../audit/index.ts'
import { type Db, isUniqueViolation, type Tx } from '../db/index.ts'
import { existingTenant } from '../tenants/index.ts'

type Deps = Readonly<{ db: Db; clock: Clock; random: Random }>

/** `tak_` and 32 random bytes; secret scanners recognise the prefix. */
const keyForm = /^tak_[A-Za-z0-9_-]{43}$/
const dayMs = 24 * 60 * 60_000

export async function listKeys({ db }: Pick<Deps, 'db'>): Promise<AutomationKey[]> {
  const keys = await db.selectFrom('automation_keys').selectAll().orderBy('name').execute()
  const bound = await db
    .selectFrom('automation_key_tenants')
    .innerJoin('tenants', 'tenants.id', 'automation_key_tenants.tenant_id')
    .select(['key_id', 'slug'])
    .orderBy('slug')
    .execute()
  return keys.map((row) => ({
    ...{ id: row.id, name: row.name, prefix: row.prefix, createdBy: row.created_by, createdAt: row.created_at },
    ...{ expiresAt: row.expires_at, lastUsedAt: row.last_used_at },
    tenants: bound.filter(({ key_id }) => key_id === row.id).map(({ slug }) => slug),
  }))
}

type NewKey = Readonly<{ name: string; tenants: readonly string[]; days?: number | undefined }>

/** Creates a key; only its hash is stored. Throws ALREADY_EXISTS, NOT_FOUND (tenant). */
export async function createKey({ db, clock, random }: Deps, actor: Actor, { name, tenants, days }: NewKey) {
  const key = `tak_${Buffer.from(random.bytes(32)).toString('base64url')}`
  const slugs = [...new Set(tenants)].toSorted()
  const [createdAt, expiresAt] = [isoNow(clock), days === undefined ? null : isoIn(clock, days * dayMs)]
  const made = { id: newId(random, 'aky'), name, prefix: key.slice(0, 8), createdBy: actorLabel(actor), createdAt, expiresAt }
  try {
    await db.transaction().execute(async (tx) => {
      await tx
        .insertInto('automation_keys')
        .values({
          ...{ id: made.id, name, prefix: made.prefix, hash: sha256Hex(key), created_by: made.createdBy },
          ...{ created_at: createdAt, expires_at: expiresAt, last_used_at: null },
        })
        .execute()
      await bindTenants(tx, made.id, slugs)
      const data = { id: made.id, tenants: slugs, expiresAt }
      await recordAudit(tx, clock, { actor, action: 'automation-key.created', subject: name, data })
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw problem('ALREADY_EXISTS', `Automation key ${name} exists already. fix: revoke it, or choose another name`)
  }
  return { ...made, lastUsedAt: null, tenants: slugs, key }
}

async function bindTenants(tx: Tx, keyId: string, slugs: readonly string[]): Promise<void> {
  for (const slug of slugs) {
    const { id } = await existingTenant(tx, slug)
    await tx.insertInto('automation_key_tenants').values({ key_id: keyId, tenant_id: id }).execute()
  }
}

/** Revokes a key: every call reads it again, so no replica accepts it any more. Throws NOT_FOUND. */
export const revokeKey = ({ db, clock }: Pick<Deps, 'db' | 'clock'>, actor: Actor, { id }: Readonly<{ id: string }>): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await tx.deleteFrom('automation_key_tenants').where('key_id', '=', id).execute()
    const row = await tx.deleteFrom('automation_keys').where('id', '=', id).returning('name').executeTakeFirst()
    if (!row) throw problem('NOT_FOUND', `Automation key ${id} does not exist. fix: \`tenantry automation keys list\` lists keys`)
    await recordAudit(tx, clock, { actor, action: 'automation-key.revoked', subject: row.name, data: { id } })
  })

/** How exact `last_used_at` is; a write for each call would be a lock for each call. */
const lastUsedMs = 60_000

export type ValidKey = Readonly<{ id: string; name: string; tenantIds: ReadonlySet<string> }>

/** The key behind a header; undefined for an unknown, revoked or expired one. */
export async function validKey({ db, clock }: Pick<Deps, 'db' | 'clock'>, key: string): Promise<ValidKey | undefined> {
  if (!keyForm.test(key)) return undefined
  const row = await db.selectFrom('automation_keys').selectAll().where('hash', '=', sha256Hex(key)).executeTakeFirst()
  if (!row || (row.expires_at !== null && row.expires_at <= isoNow(clock))) return undefined
  if (row.last_used_at === null || row.last_used_at <= isoIn(clock, -lastUsedMs))
    await db
      .updateTable('automation_keys')
      .set({ last_used_at: isoNow(clock) })
      .where('id', '=', row.id)
      .execute()
  const tenants = await db.selectFrom('automation_key_tenants').select('tenant_id').where('key_id', '=', row.id).execute()
  return { id: row.id, name: row.name, tenantIds: new Set(tenants.map(({ tenant_id }) => tenant_id)) }
}
