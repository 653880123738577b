import type { Context } from '../kit/index.ts'

/** What cannot be taken back is meant only by who types its name. `--yes` and `--confirm` are for scripts. */
export const typedSlug = async ({ ask, yes }: Context, slug: string, given: string | undefined, verb: string): Promise<string> =>
  given ?? (yes ? slug : ask.text(`Type ${slug} to ${verb} it:`, `give --confirm ${slug}`))
