import { boardLimits } from '../../../core/boards/index.ts'
import { problem } from '../../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import type { BoardRecord, BoardVersion } from './boards.repo.ts'

/**
 * Stores the last saved version of a board and deletes old ones: those beyond the limits of the board, and all of it while the tenant stores too
 * much. The published version and those of stored runs stay. Throws CONFLICT for a version that leaves more than the tenant may store.
 */
export async function storeVersion(tx: Tx, board: BoardRecord, { version, definition, savedBy, savedAt }: BoardVersion): Promise<void> {
  const before = await charactersOf(tx, board)
  const text = JSON.stringify(definition)
  const saved = { version, definition: text, characters: text.length, saved_by: savedBy, saved_at: savedAt }
  await tx
    .insertInto('board_versions')
    .values({ tenant_id: board.tenantId, board_id: board.id, ...saved })
    .execute()
  await deleteUnusedVersions(tx, board, { atMost: boardLimits.versions, text: boardLimits.versionText })
  const max = boardLimits.versionTextOfTenant
  if (before + text.length <= max || (await charactersOf(tx, board)) <= max) return
  await deleteUnusedVersions(tx, board, { atMost: 1, text: 0 })
  const after = await charactersOf(tx, board)
  // A save that stores less than before is a way out.
  if (after <= max || after < before) return
  throw problem(
    'CONFLICT',
    `With this version the boards of the tenant have ${after.toLocaleString('en')} characters; the limit is ${max.toLocaleString('en')}. ` +
      'fix: delete drafts, or save boards with many versions, which deletes their old ones',
  )
}

/** Characters of all stored versions of a tenant. */
async function charactersOf(db: DbOrTx, { tenantId }: Pick<BoardRecord, 'tenantId'>): Promise<number> {
  const query = db.selectFrom('board_versions').select(({ fn }) => fn.sum<string | null>('characters').as('characters'))
  const { characters } = await query.where('tenant_id', '=', tenantId).executeTakeFirstOrThrow()
  return Number(characters ?? 0)
}

type Bounds = Readonly<{ atMost: number; text: number }>

/** Deletes versions that are neither published, begun by a stored run, nor among the newest: at most `atMost`, with at most `text` characters. */
async function deleteUnusedVersions(tx: Tx, board: BoardRecord, bounds: Bounds): Promise<void> {
  const { id, tenantId, publishedVersion } = board
  const upTo = await lastBeyond(tx, board, bounds)
  if (upTo === undefined) return
  const begun = tx.selectFrom('runs').select('board_version').where('tenant_id', '=', tenantId).where('board_id', '=', id)
  const old = tx.deleteFrom('board_versions').where('tenant_id', '=', tenantId).where('board_id', '=', id).where('version', '<=', upTo)
  await old
    .where('version', '!=', publishedVersion ?? 0)
    .where('version', 'not in', begun)
    .execute()
}

/** The newest version beyond the bounds. The last saved one is always within. */
async function lastBeyond(tx: Tx, { tenantId, id, version: last }: BoardRecord, { atMost, text }: Bounds): Promise<number | undefined> {
  const query = tx.selectFrom('board_versions').where('tenant_id', '=', tenantId).where('board_id', '=', id)
  const sized = query.select(['version', 'characters']).where('version', '>', last - atMost)
  let used = 0
  for (const { version, characters } of await sized.orderBy('version', 'desc').execute()) {
    used += characters
    if (used > text && Number(version) !== last) return Number(version)
  }
  return last > atMost ? last - atMost : undefined
}
