import { type FileUsage, type Quotas, type SpaceUsage, summarizeUsage } from '../../core/files/index.ts'
import type { Db, Tx } from '../db/index.ts'
import { spaceNames } from '../spaces/index.ts'
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
        // Files of deleted spaces still use storage.
        const names = await spaceNames(tx, { tenantId: id, ids: uses.largestSpaces.map((space) => space.id) })
        const largestSpaces = uses.largestSpaces.map((space) => ({ ...space, name: names.get(space.id) ?? '' }))
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
