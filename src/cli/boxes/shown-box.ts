import { type BoxDetail, isPathWord } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { Context } from '../kit/index.ts'

/** All that is known about a box. One whose slug is a word of paths, from before such were refused, is asked for by its id. */
export async function shownBox({ api }: Pick<Context, 'api'>, slug: string): Promise<BoxDetail> {
  return api.boxes.showBox({ params: { slug: isPathWord(slug) ? await idOf(api, slug) : slug } })
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
