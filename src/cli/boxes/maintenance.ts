import { problem } from '../../core/kit/index.ts'
import { command, flag, text } from '../kit/index.ts'
import { boxView } from './boxes.view.ts'
import { toldCommand } from './follow-commands.ts'
import { shownBox } from './shown-box.ts'

export const maintenance = command(
  'maintenance <on|off> <slug>',
  'Close a box for work of your own on it, or open it again; rollouts wait meanwhile',
  {
    reason: text('--reason <text>', 'why it is closed; others see it'),
    wait: flag('--no-wait', 'do not wait for the agent'),
  },
  async (context, { 'on|off': state, slug, reason, wait }) => {
    const { boxes } = context.api
    if (state !== 'on' && state !== 'off') throw neither(state, slug)
    if (state === 'on' && !reason) throw problem('USAGE', 'say why, others will ask: --reason <text>')
    const body = { on: state === 'on', reason: reason ?? 'the work is done' }
    const { commandId } = await boxes.maintainBox({ params: { slug }, body })
    if (wait) await toldCommand(context, commandId, `${slug}: ${state === 'on' ? 'closing' : 'opening'}`)
    return shownBox(context, slug)
  },
  boxView,
  { examples: ["maintenance on anna-schule --reason 'moving its disk'", 'maintenance off anna-schule'] },
)

/** Whoever typed the box first meant the other order. */
const neither = (state: string, slug: string) =>
  slug === 'on' || slug === 'off'
    ? problem('USAGE', `${slug} comes first, then the box: \`tenantry boxes maintenance ${slug} ${state}\``)
    : problem('USAGE', `${state} is neither on nor off: \`tenantry boxes maintenance on ${slug}\``)
