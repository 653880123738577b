import { command } from '../kit/index.ts'
import { changesView } from './manifest.view.ts'
import { readManifest } from './read-manifest.ts'

export const diff = command(
  'diff <file>',
  'What applying a manifest file would change; changes nothing',
  {},
  async (context, { file }) => context.api.boxes.diffManifest({ body: { manifest: await readManifest(context, file) } }),
  ({ changes, revision }, style) => (changes.length === 0 ? `Nothing: revision ${revision} says the same.` : changesView(changes, style)),
)
