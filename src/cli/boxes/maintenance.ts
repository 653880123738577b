import { plural, problem } from '../../core/kit/index.ts'
import type { ReconciledBox } from '../../core/users/index.ts'
import { clean, command, fields, flag, required, type Style, sections, stamp, text } from '../kit/index.ts'
import { awaitWithProgress } from './await-command.ts'
import { boxView } from './boxes.view.ts'

import { confirmSlug } from './remove.ts'
import { getBox } from './show.ts'

export const maintenance = command('maintenance <on|off> <slug>', 'Enter or leave maintenance mode', {
  options: {
    reason: text('--reason <text>', 'reason, shown to others'),
    wait: flag('--no-wait', 'do not wait for the agent'),
  },
  run: async (context, { 'on|off': state, slug, reason, wait }) => {
    const { boxes } = context.api
    if (state !== 'on' && state !== 'off') throw wrongState(state, slug, 'maintenance')
    if (state === 'on' && !reason) throw problem('USAGE', 'a reason is required. fix: --reason <text>')
    const body = { on: state === 'on', reason: reason ?? 'maintenance finished' }
    const { commandId } = await boxes.maintainBox({ params: { slug }, body })
    if (wait) await awaitWithProgress(context, commandId, `${slug}: ${state === 'on' ? 'entering maintenance' : 'leaving maintenance'}`)
    return getBox(context, slug)
  },
  view: boxView,
  examples: ["maintenance on anna-schule --reason 'moving its disk'", 'maintenance off anna-schule'],
})

export const canary = command('canary <on|off> <slug>', 'Mark or unmark a box as a canary', {
  run: ({ api }, { 'on|off': state, slug }) => {
    if (state !== 'on' && state !== 'off') throw wrongState(state, slug, 'canary')
    return api.boxes.changeBox({ params: { slug }, body: { canary: state === 'on' } })
  },
  view: ({ slug, canary: isCanary }) => `${slug} is ${isCanary ? 'a canary now: rollouts update it first' : 'no longer a canary'}.`,
  examples: ['canary on anna-schule'],
})

/** The error for a wrong state; a swapped order gets the corrected command. */
const wrongState = (state: string, slug: string, verb: 'maintenance' | 'canary') =>
  slug === 'on' || slug === 'off'
    ? problem('USAGE', `wrong order. fix: \`tenantry boxes ${verb} ${slug} ${state}\``)
    : problem('USAGE', `expected on or off, got ${state}. fix: \`tenantry boxes ${verb} on ${slug}\``)

export const release = command('release <slug>', 'Force-release a stale hold', {
  options: {
    reason: required(text('--reason <text>', 'why the owner of the hold is gone')),
    confirm: text('--confirm <slug>', 'confirm with the slug, without a prompt'),
  },
  run: async (context, { slug, reason, confirm }) =>
    context.api.boxes.releaseBox({
      params: { slug },
      body: { reason, confirm: await confirmSlug(context, slug, { confirm, verb: 'release' }) },
    }),
  view: ({ released, fenced, next }, { paint }, { slug }) =>
    [
      `Released the hold of ${clean(released).replace(':', ' ')} on ${slug}.${fenced ? paint.yellow(' The box is still fenced: users cannot reach it.') : ''}`,
      'Next:',
      ...next.map((line) => `  ${clean(line)}`),
    ].join('\n'),
})

export const reconcile = command('reconcile <slug>', 'Re-sync users and spaces to the chat server', {
  options: { snapshot: text('--snapshot <id>', 'snapshot whose data it has; eight characters of its id are enough') },
  run: ({ api }, { slug, snapshot }) => api.users.reconcileBox({ params: { slug }, body: snapshot === undefined ? {} : { snapshot } }),
  view: reconciledView,
  examples: ['reconcile anna-schule --snapshot 3f2a91c0'],
})

function reconciledView({ slug, users, spaces, takenAt, oldPasswords }: ReconciledBox, style: Style): string {
  return sections(
    `Re-syncing ${slug} to its chat server; repeating it is safe.`,
    fields(style, [
      ['users', `${users}: locks, names, missing accounts`],
      ['spaces', `${spaces}: rooms and members`],
      ['data of', takenAt && stamp(takenAt, style.now)],
      ['old passwords', oldPasswords === null ? 'not checked: pass --snapshot <id>' : String(oldPasswords)],
    ]),
    oldPasswords ? `${plural(oldPasswords, 'user')} with an outdated password: tenantry users list ${slug} --old-password` : '',
    ['Open jobs: tenantry jobs list', `Recreated accounts: tenantry users list ${slug} --without-password`].join('\n'),
  )
}
