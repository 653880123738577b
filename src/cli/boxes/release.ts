import { clean, command, required, text } from '../kit/index.ts'
import { typedSlug } from './typed-slug.ts'

export const release = command(
  'release <slug>',
  'Take the hold of a box from an action or a host that will not come back for it; the box itself is not touched',
  {
    reason: required(text('--reason <text>', 'why it is certain that nobody comes back')),
    confirm: text('--confirm <slug>', 'the slug once more, instead of being asked'),
  },
  async (context, { slug, reason, confirm }) =>
    context.api.boxes.releaseBox({ params: { slug }, body: { reason, confirm: await typedSlug(context, slug, confirm, 'release') } }),
  ({ released, fenced, next }, { paint }, { slug }) =>
    [
      `${slug} is free: ${clean(released).replace(':', ' ')} holds it no longer.${fenced ? paint.yellow(' It rests fenced: its users are still shut out.') : ''}`,
      'Next:',
      ...next.map((line) => `  ${clean(line)}`),
    ].join('\n'),
)
