import { problem } from '../../core/kit/index.ts'
import type { Context } from '../kit/index.ts'

/** What cannot be taken back is meant only by who types its name; throws CANCELLED for another. `--yes` and `--confirm` are for scripts. */
export async function typedSlug({ ask, yes }: Context, slug: string, given: string | undefined, verb: string): Promise<string> {
  if (given !== undefined || yes) return given ?? slug
  const typed = (await ask.text(`Type ${slug} to ${verb} it:`, `give --confirm ${slug}`)).trim()
  if (typed !== slug) throw problem('CANCELLED', `that is not ${slug}; nothing was changed`)
  return typed
}
