import { type BoxDetail, type BoxRow, isReservedSlug } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type Context, command, count, oneOf, text } from '../kit/index.ts'
import { boxList, boxView } from './boxes.view.ts'

export const show = command('show <slug>', 'All that is known about a box', {}, (context, { slug }) => getBox(context, slug), boxView)

export const list = command(
  'list',
  'Boxes with their state, drift and versions',
  {
    tier: oneOf('--tier <tier>', 'of one tier', ['free', 'pro', 'enterprise']),
    host: text('--host <name>', 'on one host'),
    severity: oneOf('--severity <severity>', 'with this drift', ['none', 'minor', 'major', 'unknown']),
    slug: text('--slug <part>', 'whose slug contains this'),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  ({ api }, query) => api.boxes.listBoxes({ query }),
  boxList,
)

/** All that is known about a box. One whose slug is a word of paths, from before such were refused, is asked for by its id. */
export async function getBox({ api }: Pick<Context, 'api'>, slug: string): Promise<BoxDetail> {
  return api.boxes.showBox({ params: { slug: isReservedSlug(slug) ? await idOf(api, slug) : slug } })
}

async function idOf(api: Context['api'], slug: string): Promise<string> {
  for (let cursor: string | undefined; ; ) {
    const { boxes, nextCursor } = await api.boxes.listBoxes({ query: { slug, limit: 200, ...(cursor === undefined ? {} : { cursor }) } })
    const found = boxes.find((box) => box.slug === slug)
    if (found) return found.boxId
    if (nextCursor === null) throw problem('NOT_FOUND', `there is no box ${slug}: \`tenantry boxes list\` shows all`)
    cursor = nextCursor
  }
}

/** Every box that there is, page by page. */
export async function listAllBoxes({ api }: Pick<Context, 'api'>): Promise<BoxRow[]> {
  const boxes: BoxRow[] = []
  let cursor: string | undefined
  do {
    const page = await api.boxes.listBoxes({ query: { limit: 200, ...(cursor ? { cursor } : {}) } })
    boxes.push(...page.boxes)
    cursor = page.nextCursor ?? undefined
  } while (cursor)
  return boxes
}
