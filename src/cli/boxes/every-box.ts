import type { BoxRow } from '../../core/boxes/index.ts'
import type { Context } from '../kit/index.ts'

/** Every box that there is, page by page. */
export async function everyBox({ api }: Pick<Context, 'api'>): Promise<BoxRow[]> {
  const boxes: BoxRow[] = []
  let cursor: string | undefined
  do {
    const page = await api.boxes.listBoxes({ query: { limit: 200, ...(cursor ? { cursor } : {}) } })
    boxes.push(...page.boxes)
    cursor = page.nextCursor ?? undefined
  } while (cursor)
  return boxes
}
