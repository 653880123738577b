import { type FileUsage, type Quotas, type SpaceUsage, summarizeUsage } from '../../core/files/index.ts'
import type { Db, Tx } from '../db/index.ts'
import type { FileTable } from './files.tables.ts'
import { usageOf } from './usage.repo.ts'

type OfTenant = Readonly<{ id: string; plan: keyof Quotas }>

/** What a tenant's files take of its quota, and where: all of one instant, so that the parts are the sum that uploads are held against. */
export const fileUseOf =
  (quotas: Quotas) =>
  (db: Db, { id, plan }: OfTenant): Promise<FileUsage> =>
    db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (tx) => {
        const uses = summarizeUsage(await usesOf(tx, id))
        const largestSpaces = await named(tx, uses.largestSpaces)
        return { usedBytes: await usageOf(tx, id), quotaBytes: quotas[plan], ...uses, largestSpaces }
      })

const asWhat = { uploading: 'underWay', ready: 'kept', deleted: 'deleted', erasing: 'deleted' } as const satisfies Record<
  FileTable['state'],
  SpaceUsage['as']
>

/** Read off an index alone: a row is longer than what is asked of it. */
export async function usesOf(tx: Tx, tenantId: string): Promise<SpaceUsage[]> {
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

/** Deleted spaces too: their files take their space for a while. */
async function named<Use extends Readonly<{ id: string }>>(tx: Tx, uses: readonly Use[]): Promise<(Use & Readonly<{ name: string }>)[]> {
  if (uses.length === 0) return []
  const ids = uses.map(({ id }) => id)
  const rows = await tx.selectFrom('spaces').select(['id', 'name']).where('id', 'in', ids).execute()
  const names = new Map(rows.map(({ id, name }) => [id, name]))
  return uses.map((use) => ({ ...use, name: names.get(use.id) ?? '' }))
}
