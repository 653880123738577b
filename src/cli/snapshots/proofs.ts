import { clean, command, fields, stamp } from '../kit/index.ts'

export const proofs = command('proofs', 'Show the box with the oldest drill', {
  run: ({ api }) => api.snapshots.summarizeProofs(),
  view: ({ boxes, unproven, oldest }, style) =>
    fields(style, [
      ['boxes', boxes],
      ['never drilled', unproven],
      ['oldest drill', oldest && `${clean(oldest.slug)}, ${stamp(oldest.at, style.now)}`],
    ]),
  examples: ['proofs'],
})
