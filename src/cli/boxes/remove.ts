import { type BoxRemoval, lifecycleQuestions } from '../../core/boxes/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import { assertConfirmedOf, type Context, command, flag, text } from '../kit/index.ts'
import { followCommands } from './await-command.ts'
import { removalView } from './lifecycle.view.ts'
import { getBox } from './show.ts'

export const remove = command('remove <slug>', 'Remove a box after a last snapshot', {
  options: {
    reason: text('--reason <text>', 'reason, for the audit log'),
    now: flag('--now', 'erase its data on the host now'),
    hostIsDead: text('--host-is-dead <name>', 'its host is permanently lost: end the record, with its name typed'),
    undo: flag('--undo', 'restore a removed box while its data is retained'),
    confirm: text('--confirm <slug>', 'confirm with the slug, without a prompt'),
    wait: flag('--no-wait', 'do not wait for the agent'),
  },
  run: async (context, { slug, wait, ...flags }) => {
    const begun = await begin(context, slug, flags)
    return wait ? followCommands(context, slug, { begun, again: () => latest(context, slug, begun) }) : begun
  },
  view: removalView,
  // A record that ends without its host says that data may be left there.
  exit: ({ state, error }, { undo, now, wait, hostIsDead }) =>
    wait && !((undo ? state === 'undone' : (now ? ['erased'] : ended).includes(state)) && (error === null || hostIsDead !== undefined))
      ? 1
      : 0,
  examples: [
    'remove anna-schule --reason "the school has left"',
    'remove anna-schule --undo',
    'remove anna-schule --host-is-dead host-1 --reason "it burned"',
  ],
})

const ended: readonly BoxRemoval['state'][] = ['kept', 'erased']

type Flags = Readonly<Record<'reason' | 'confirm' | 'hostIsDead', string | undefined> & Record<'now' | 'undo', boolean>>

async function begin(context: Context, slug: string, { reason, now, undo, confirm, hostIsDead }: Flags): Promise<BoxRemoval> {
  const { boxes } = context.api
  if (undo) {
    await assertConfirmedOf(context, lifecycleQuestions.undoRemoval(slug), () => getBox(context, slug))
    return boxes.undoRemoval({ params: { slug } })
  }
  if (!reason) throw problem('USAGE', 'a reason is required. fix: --reason <text>')
  const verb = hostIsDead ? 'end the record of' : now ? 'erase its data on the host and remove' : 'remove'
  const typed = await confirmSlug(context, slug, { confirm, verb })
  return boxes.removeBox({ params: { slug }, body: { confirm: typed, reason, now, ...(hostIsDead ? { hostIsDead } : {}) } })
}

/** NOT_FOUND means that the box is erased. */
async function latest(context: Context, slug: string, begun: BoxRemoval): Promise<BoxRemoval> {
  try {
    const { removal } = await getBox(context, slug)
    return removal?.removalId === begun.removalId ? removal : { ...begun, commandId: null }
  } catch (error) {
    if (!isProblem(error, 'NOT_FOUND')) throw error
    return { ...begun, state: 'erased', commandId: null, keepUntil: null, remarks: await remarksOf(context, slug, begun) }
  }
}

/** An erased box is only in the audit log. */
async function remarksOf({ api }: Context, slug: string, { removalId, remarks }: BoxRemoval): Promise<string[]> {
  const { entries } = await api.audit.listAudit({ query: { subject: slug, limit: 20 } }).catch(() => ({ entries: [] }))
  const ended = entries.find(
    ({ action, data }) => action === 'box.removal.erased' && (data as { removalId?: string }).removalId === removalId,
  )
  return (ended?.data as { remarks?: string[] } | undefined)?.remarks ?? remarks
}

/** Asks for the slug before an irreversible action. Throws CANCELLED for another text; `--yes` and `--confirm` skip the prompt. */
export async function confirmSlug(
  context: Context,
  slug: string,
  { confirm, verb }: Readonly<{ confirm: string | undefined; verb: string }>,
): Promise<string> {
  const { ask, yes } = context
  if (confirm !== undefined || yes) return confirm ?? slug
  await getBox(context, slug)
  const typed = (await ask.text(`Type ${slug} to ${verb} it:`, `pass --confirm ${slug}`)).trim()
  if (typed !== slug) throw problem('CANCELLED', `confirmation does not match ${slug}; nothing was changed`)
  return typed
}
