const perPage = 200

/** The newest `pages` pages of the history of a run with `seq` steps, oldest first: steps are numbered from 1, and a cursor is a number of a step. */
export function newestSteps(seq: number, pages: number): Readonly<{ limit: number; cursor?: string }>[] {
  const first = Math.max(0, seq - pages * perPage)
  const count = Math.max(1, Math.ceil((seq - first) / perPage))
  return Array.from({ length: count }, (_, nth) => {
    const after = first + nth * perPage
    const limit = Math.min(perPage, Math.max(1, seq - after))
    return after > 0 ? { limit, cursor: String(after) } : { limit }
  })
}
