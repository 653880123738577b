import { plural } from '../../core/kit/index.ts'
import { assertConfirmed, command } from '../kit/index.ts'
import { changesView } from './manifest.view.ts'
import { readManifest } from './read-manifest.ts'

export const apply = command(
  'apply <file>',
  'Make a manifest file the canonical one; boxes move only by a rollout',
  {},
  async ({ api, ask, yes, notify, readStdin }, { file }) => {
    const body = { manifest: await readManifest({ readStdin }, file) }
    if (!yes) {
      const { changes, revision } = await api.boxes.diffManifest({ body })
      if (changes.length > 0) {
        notify((style) => changesView(changes, style))
        await assertConfirmed(ask, `Apply ${plural(changes.length, 'change')} to revision ${revision}?`)
      }
    }
    return api.boxes.applyManifest({ body })
  },
  ({ changed, changes, revision }, { paint }) =>
    changed
      ? `${paint.green(`Revision ${revision}`)} is the manifest now (${plural(changes.length, 'change')}). Boxes have not moved: tenantry rollouts plan`
      : `Nothing to change: revision ${revision} says the same.`,
)
