import { type FileUsage, type Quotas, type SpaceUsage, summarizeUsage } from '../../core/files/index.ts'
import type { Db, Tx } from '../db/index.ts'
import { readUsedBytes } from './files.repo.ts'
import type { FileTable } from './files.tables.ts'

type OfTenant = Readonly<{ id: string; plan: keyof Quotas }>

/** Storage usage of a tenant, read in one transaction, so that the parts add up to the total that uploads are checked against. */
export const fileUsageOf =
  (quotas: Quotas) =>
  (db: Db, { id, plan }: OfTenant): Promise<FileUsage> =>
    db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (tx) => {
        const uses = summarizeUsage(await usageBySpace(tx, id))
        const largestSpaces = await named(tx, uses.largestSpaces)
        return { usedBytes: await readUsedBytes(tx, id), quotaBytes: quotas[plan], ...uses, largestSpaces }
      })

const asWhat = { uploading: 'underWay', ready: 'kept', deleted: 'deleted', erasing: 'deleted' } as const satisfies Record<
  FileTable['state'],
  SpaceUsage['as']
>

/** Index-only: reading whole rows would be slower. */
export async function usageBySpace(tx: Tx, tenantId: string): Promise<SpaceUsage[]> {
  const rows = await tx
    .selectFrom('files')
    .select(({ fn }) => ['space_id', 'state', fn.countAll().as('count'), fn.sum('bytes').as('bytes')])
    .where('tenant_id', '=', tenantId)
    .groupBy(['space_id', 'state'])
    .execute()
  return rows.map(({ space_id, state, count, bytes }) => ({
    ...{ spaceId: space_id, as: asWhat[state], count: Number(count), bytes: Number(bytes) },
  }))
}

/** Includes deleted spaces, whose files still use storage. */
async function named<Use extends Readonly<{ id: string }>>(tx: Tx, uses: readonly Use[]): Promise<(Use & Readonly<{ name: string }>)[]> {
  if (uses.length === 0) return []
  const ids = uses.map(({ id }) => id)
  const rows = await tx.selectFrom('spaces').select(['id', 'name']).where('id', 'in', ids).execute()
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  return uses.map((use) => ({ ...use, name: names.get(use.id) ?? '' }))
}
