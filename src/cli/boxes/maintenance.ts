import { plural, problem } from '../../core/kit/index.ts'
import type { ReconciledBox } from '../../core/users/index.ts'
import { clean, command, fields, flag, required, type Style, sections, stamp, text } from '../kit/index.ts'
import { awaitWithProgress } from './await-command.ts'
import { boxView } from './boxes.view.ts'

import { confirmSlug } from './remove.ts'
import { getBox } from './show.ts'

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
    if (wait) await awaitWithProgress(context, commandId, `${slug}: ${state === 'on' ? 'closing' : 'opening'}`)
    return getBox(context, slug)
  },
  boxView,
  { examples: ["maintenance on anna-schule --reason 'moving its disk'", 'maintenance off anna-schule'] },
)

/** Whoever typed the box first meant the other order. */
const neither = (state: string, slug: string) =>
  slug === 'on' || slug === 'off'
    ? problem('USAGE', `${slug} comes first, then the box: \`tenantry boxes maintenance ${slug} ${state}\``)
    : problem('USAGE', `${state} is neither on nor off: \`tenantry boxes maintenance on ${slug}\``)

export const release = command(
  'release <slug>',
  'Take the hold of a box from an action or a host that will not come back for it; the box itself is not touched',
  {
    reason: required(text('--reason <text>', 'why it is certain that nobody comes back')),
    confirm: text('--confirm <slug>', 'the slug once more, instead of being asked'),
  },
  async (context, { slug, reason, confirm }) =>
    context.api.boxes.releaseBox({ params: { slug }, body: { reason, confirm: await confirmSlug(context, slug, confirm, 'release') } }),
  ({ released, fenced, next }, { paint }, { slug }) =>
    [
      `${slug} is free: ${clean(released).replace(':', ' ')} holds it no longer.${fenced ? paint.yellow(' It rests fenced: its users are still shut out.') : ''}`,
      'Next:',
      ...next.map((line) => `  ${clean(line)}`),
    ].join('\n'),
)

export const reconcile = command(
  'reconcile <slug>',
  'Say users and spaces to the chat of a box again, after its data was brought back by hand',
  { snapshot: text('--snapshot <id>', 'whose data it has now; eight characters of its id are enough') },
  ({ api }, { slug, snapshot }) => api.users.reconcileBox({ params: { slug }, body: snapshot === undefined ? {} : { snapshot } }),
  reconciledView,
  { examples: ['reconcile anna-schule --snapshot 3f2a91c0'] },
)

function reconciledView({ slug, users, spaces, takenAt, oldPasswords }: ReconciledBox, style: Style): string {
  return sections(
    `What the platform knows is being said to the chat of ${slug} again; once more does no harm.`,
    fields(style, [
      ['users', `${users}: locks, names, accounts that are missing`],
      ['spaces', `${spaces}: rooms and who is in them`],
      ['data of', takenAt && stamp(takenAt, style.now)],
      ['old passwords', oldPasswords === null ? 'not looked for: --snapshot <id> says whose data it has' : String(oldPasswords)],
    ]),
    oldPasswords
      ? `${plural(oldPasswords, 'user')} with an older password than the newest: tenantry users list ${slug} --old-password`
      : '',
    ['What is not done yet: tenantry jobs list', `Whose account was made anew: tenantry users list ${slug} --without-password`].join('\n'),
  )
}
