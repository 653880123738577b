import { plural, problem } from '../../core/kit/index.ts'
import { getBox } from '../boxes/index.ts'
import { command, required, text } from '../kit/index.ts'

export const abandon = command('abandon <slug>', 'Abandon the missing snapshots of a box', {
  options: { reason: required(text('--reason <text>', 'reason, for the audit log')) },
  run: async (context, { slug, reason }) => {
    const { api, ask, yes, notify } = context
    if (!yes) {
      await getBox(context, slug)
      notify(
        `All snapshots of ${slug} are abandoned, and its next snapshot creates a new repository. Nothing of a store that comes back is found again.`,
      )
      const typed = await ask.text(`Type ${slug} to abandon them:`, 'pass --yes')
      if (typed.trim() !== slug) throw problem('CANCELLED', `confirmation does not match ${slug}; nothing was changed`)
    }
    return api.snapshots.abandonSnapshots({ params: { slug }, body: { reason } })
  },
  view: ({ abandoned }, _, { slug }) =>
    `Abandoned ${plural(abandoned, 'snapshot')} of ${slug}. Next: tenantry snapshots take ${slug} --wait`,
})
