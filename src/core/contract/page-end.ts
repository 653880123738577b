import { type Problem, problem } from '../kit/index.ts'

/** Where a page ends of a list that begins with the newest. */
export type PageEnd = Readonly<{ createdAt: string; id: string }>

export const pageEnd = ({ createdAt, id }: PageEnd): string => `${createdAt}~${id}`

/** Throws VALIDATION for a cursor that no page returned. */
export function readPageEnd(cursor: string): PageEnd {
  const [, createdAt, id] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)~([A-Za-z0-9_]{1,255})$/.exec(cursor) ?? []
  if (createdAt !== undefined && id !== undefined) return { createdAt, id }
  throw noSuchPage()
}

type Page<T> = Readonly<{ page: T[]; nextCursor: string | null }>

/** Cuts rows that were read with `limit + 1` to one page. `cursorOf` makes the cursor of the next page from the last row of this one. */
export function pageOf<T>(found: readonly T[], limit: number, cursorOf: (last: T) => string): Page<T> {
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return { page, nextCursor: found.length > limit && last !== undefined ? cursorOf(last) : null }
}

/** The problem for a cursor that no page returned. */
export function noSuchPage(): Problem {
  const reason = 'must be the nextCursor of the previous page'
  return problem('VALIDATION', `cursor: ${reason}`, { details: [{ path: 'cursor', reason }] })
}
