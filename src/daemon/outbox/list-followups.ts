import { problem } from '../../core/kit/index.ts'
import type { Followup, FollowupCount, FollowupState } from '../../core/outbox/index.ts'
import type { Db } from '../db/index.ts'
import { countFollowups, findFollowup, followupsAfter } from './followups.repo.ts'

type Query = Readonly<{ limit: number; cursor?: string | undefined; state?: FollowupState | undefined; topic?: string | undefined }>
type Listed = { followups: Followup[]; nextCursor: string | null; counts: FollowupCount[] }

/** A page, and how much there is in all. */
export async function listFollowups({ db }: Readonly<{ db: Db }>, { cursor, limit, ...filter }: Query): Promise<Listed> {
  const after = /^[0-9]{1,15}$/.test(cursor ?? '') ? Number(cursor) : 0
  const found = await followupsAfter(db, { ...filter, after, limit: limit + 1 })
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return { followups: page, nextCursor: found.length > limit && last ? String(last.id) : null, counts: await countFollowups(db) }
}

/** Throws NOT_FOUND: it is done, or there was none. */
export async function showFollowup({ db }: Readonly<{ db: Db }>, { id }: Readonly<{ id: number }>): Promise<Followup> {
  const found = await findFollowup(db, id)
  if (!found) throw problem('NOT_FOUND', `there is no follow-up work ${id}: it is done, or \`tenantry followups list\` shows what is not`)
  return found
}
