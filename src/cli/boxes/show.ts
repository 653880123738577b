import { type BoxDetail, type BoxRow, isReservedSlug } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { type Context, command, count, oneOf, text } from '../kit/index.ts'
import { boxList, boxView } from './boxes.view.ts'

export const show = command('show <slug>', 'Show a box', {
  run: (context, { slug }) => getBox(context, slug),
  view: boxView,
})

export const list = command('list', 'List boxes with state, drift and versions', {
  options: {
    tier: oneOf('--tier <tier>', 'filter by tier', ['free', 'pro', 'enterprise']),
    host: text('--host <name>', 'filter by host'),
    drift: oneOf('--drift <drift>', 'filter by drift', ['none', 'minor', 'major', 'unknown']),
    slug: text('--slug <part>', 'filter by part of the slug'),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: ({ api }, { drift, ...query }) => api.boxes.listBoxes({ query: { ...query, ...(drift ? { severity: drift } : {}) } }),
  view: boxList,
})

/** Reads a box. An old box with a reserved slug is read by its id. */
export async function getBox({ api }: Pick<Context, 'api'>, slug: string): Promise<BoxDetail> {
  return api.boxes.showBox({ params: { slug: isReservedSlug(slug) ? await idOf(api, slug) : slug } })
}

async function idOf(api: Context['api'], slug: string): Promise<string> {
  for (let cursor: string | undefined; ; ) {
    const { boxes, nextCursor } = await api.boxes.listBoxes({ query: { slug, limit: 200, ...(cursor === undefined ? {} : { cursor }) } })
    const found = boxes.find((box) => box.slug === slug)
    if (found) return found.boxId
    if (nextCursor === null) throw problem('NOT_FOUND', `box ${slug} does not exist. fix: \`tenantry boxes list\``)
    cursor = nextCursor
  }
}

/** Reads all boxes, page by page. */
export const listAllBoxes = (context: Pick<Context, 'api'>): Promise<BoxRow[]> => pages(context, {})

/** Reads all boxes of a host. */
export const listBoxesOf = (context: Pick<Context, 'api'>, host: string): Promise<BoxRow[]> => pages(context, { host })

async function pages({ api }: Pick<Context, 'api'>, of: Readonly<{ host?: string }>): Promise<BoxRow[]> {
  const boxes: BoxRow[] = []
  let cursor: string | undefined
  do {
    const page = await api.boxes.listBoxes({ query: { limit: 200, ...of, ...(cursor ? { cursor } : {}) } })
    boxes.push(...page.boxes)
    cursor = page.nextCursor ?? undefined
  } while (cursor)
  return boxes
}
