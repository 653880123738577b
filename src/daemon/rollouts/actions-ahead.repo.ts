import { type DbOrTx, preparedList, type Tx } from '../db/index.ts'
import type { ActionRow } from './action-row.ts'

/** Told by its parts. */
export const actionId = (rolloutId: string, slug: string): string => `${rolloutId}.${slug}`

const ahead = new WeakMap<DbOrTx, Map<string, ActionRow>>()

/**
 * Reads the actions that a transaction is about to look at in one statement, instead of one for each. Only for one that has locked the
 * rollout: then nobody else changes them meanwhile.
 */
export async function readAhead(tx: Tx, rolloutId: string, slugs: readonly string[]): Promise<void> {
  if (slugs.length < 2) return
  const rows = await withIds(
    tx,
    slugs.map((slug) => actionId(rolloutId, slug)),
  )
  ahead.set(tx, new Map(rows.map((row) => [row.id, row])))
}

const withIds = preparedList<string, ActionRow>((db, ids) => db.selectFrom('rollout_actions').selectAll().where('id', 'in', ids))

/** What was read ahead is given out once: whoever asks again may have changed it, and reads it anew. */
export function takeAhead(db: DbOrTx, rolloutId: string, slug: string): ActionRow | undefined {
  const id = actionId(rolloutId, slug)
  const row = ahead.get(db)?.get(id)
  ahead.get(db)?.delete(id)
  return row
}
