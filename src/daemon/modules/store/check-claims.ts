import { isoIn, problem } from '../../../core/kit/index.ts'
import { assertFlagFree, assertNewVersion, isOneEditApart, type ModuleManifest } from '../../../core/modules/index.ts'
import { contains, lockExclusive, type Tx } from '../../db/index.ts'
import type { StoreDeps } from './deps.ts'
import { approvedVersions } from './store.repo.ts'

/** An id in review belongs to its developer that long. */
const heldMs = 30 * 86_400_000

type Claim = Readonly<{ manifest: ModuleManifest; developerId: string }>

/**
 * Throws unless id, version and feature flag are free for this developer: ALREADY_EXISTS, VERSION_EXISTS, FLAG_TAKEN. Other
 * claims wait until the transaction ends.
 */
export async function assertClaimsFree(tx: Tx, { clock }: Pick<StoreDeps, 'clock'>, { manifest, developerId }: Claim): Promise<void> {
  const { id: moduleId, featureFlag, version } = manifest
  await lockExclusive(tx, 'store-claims')
  const owner = await tx.selectFrom('store_modules').select('developer_id').where('id', '=', moduleId).executeTakeFirst()
  if (owner ? owner.developer_id !== developerId : await isHeldByOthers(tx, moduleId, { developerId, since: isoIn(clock, -heldMs) }))
    throw problem('ALREADY_EXISTS', `The module id ${moduleId} belongs to another developer. fix: use another id in module.json`)
  assertNewVersion(version, await approvedVersions(tx, moduleId))
  const holder = await tx.selectFrom('store_modules').select('id').where('feature_flag', '=', featureFlag).executeTakeFirst()
  const isSetByHand = holder === undefined && (await isFlagOfTenants(tx, featureFlag))
  assertFlagFree({ flag: featureFlag, moduleId, owner: holder?.id ?? null, isSetByHand })
}

async function isHeldByOthers(tx: Tx, moduleId: string, { developerId, since }: Readonly<{ developerId: string; since: string }>) {
  const held = await tx
    .selectFrom('store_submissions')
    .select('id')
    .where('module_id', '=', moduleId)
    .where('status', '=', 'in_review')
    .where('developer_id', '!=', developerId)
    .where('created_at', '>', since)
    .executeTakeFirst()
  return held !== undefined
}

async function isFlagOfTenants(tx: Tx, flag: string): Promise<boolean> {
  const rows = await tx
    .selectFrom('tenants')
    .select('feature_flags')
    .where(contains('feature_flags', JSON.stringify(flag)))
    .execute()
  return rows.some(({ feature_flags }) => Object.hasOwn(JSON.parse(feature_flags) as object, flag))
}

/** Warnings for the reviewer: approved ids of other developers that resemble this one. */
export async function similarIds(tx: Tx, moduleId: string, developerId: string): Promise<string[]> {
  const rows = await tx.selectFrom('store_modules').select('id').where('developer_id', '!=', developerId).execute()
  return rows
    .filter(({ id }) => isOneEditApart(id, moduleId))
    .map(({ id }) => `The id is one letter from ${id}, a module of another developer`)
}
