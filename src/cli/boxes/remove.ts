import type { BoxRemoval } from '../../core/boxes/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import { assertConfirmed, type Context, command, flag, text } from '../kit/index.ts'
import { followCommands } from './await-command.ts'
import { removalView } from './lifecycle.view.ts'
import { getBox } from './show.ts'

export const remove = command(
  'remove <slug>',
  'Stop a box for good after a last snapshot; its data stay on the host for a time',
  {
    reason: text('--reason <text>', 'why; it stands in the audit log'),
    now: flag('--now', 'do not keep its data on the host'),
    undo: flag('--undo', 'let a removed box run again, as long as its data are kept'),
    confirm: text('--confirm <slug>', 'the slug once more, instead of being asked'),
    wait: flag('--no-wait', 'do not wait for the agent'),
  },
  async (context, { slug, wait, ...wish }) => {
    const begun = await begin(context, slug, wish)
    return wait ? followCommands(context, slug, begun, () => latest(context, slug, begun)) : begun
  },
  removalView,
  {
    exit: ({ state, error }, { undo, wait }) => (wait && !((undo ? state === 'undone' : ended.includes(state)) && error === null) ? 1 : 0),
    examples: ['remove anna-schule --reason "the school has left"', 'remove anna-schule --undo'],
  },
)

const ended: readonly BoxRemoval['state'][] = ['kept', 'erased']

type Wish = Readonly<{ reason: string | undefined; now: boolean; undo: boolean; confirm: string | undefined }>

async function begin(context: Context, slug: string, { reason, now, undo, confirm }: Wish): Promise<BoxRemoval> {
  const { boxes } = context.api
  if (undo) {
    await assertConfirmed(context.ask, `Let ${slug} run again?`)
    return boxes.undoRemoval({ params: { slug } })
  }
  if (!reason) throw problem('USAGE', 'say why, others will ask: --reason <text>')
  const typed = await confirmSlug(context, slug, confirm, now ? 'erase its data on the host and remove' : 'remove')
  return boxes.removeBox({ params: { slug }, body: { confirm: typed, reason, now } })
}

/** A box of which nothing is left is not found any more: that is the good end. */
async function latest(context: Context, slug: string, begun: BoxRemoval): Promise<BoxRemoval> {
  try {
    const { removal } = await getBox(context, slug)
    return removal?.removalId === begun.removalId ? removal : { ...begun, commandId: null }
  } catch (error) {
    if (!isProblem(error, 'NOT_FOUND')) throw error
    return { ...begun, state: 'erased', commandId: null, keepUntil: null }
  }
}

/** What cannot be taken back is meant only by who types its name; throws CANCELLED for another. `--yes` and `--confirm` are for scripts. */
export async function confirmSlug({ ask, yes }: Context, slug: string, given: string | undefined, verb: string): Promise<string> {
  if (given !== undefined || yes) return given ?? slug
  const typed = (await ask.text(`Type ${slug} to ${verb} it:`, `give --confirm ${slug}`)).trim()
  if (typed !== slug) throw problem('CANCELLED', `that is not ${slug}; nothing was changed`)
  return typed
}
