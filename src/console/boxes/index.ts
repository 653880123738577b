// Boxes: the fleet against its manifest, and one box with its versions, probe, snapshots and history.
// Rollouts move boxes; here they are only scanned, probed, and entered into maintenance.
import { consoleFeature, roleFor } from '../kit/index.ts'
import { searchBoxes } from './queries.ts'
import { titles } from './titles.ts'

export { driftTones } from './box-state.ts'
export { fleetQuery } from './queries.ts'
export { driftWords } from './words.ts'

export const boxesConsole = consoleFeature({
  name: 'boxes',
  pages: [
    {
      path: '/boxes',
      title: titles.title,
      load: () => import('./boxes-page.tsx'),
      nav: { group: 'Fleet', label: titles.title, order: 0, shortcut: 'b' },
    },
    { path: '/boxes/$slug', title: titles.box, load: () => import('./box-page.tsx') },
  ],
  live: { 'rollout.done': ['boxes'], 'rollout.paused': ['boxes'], 'rollout.failed': ['boxes'] },
  actions: [{ id: 'scan all', label: 'Scan all boxes', detail: 'action', to: '/boxes', asks: 'scan', role: roleFor('boxes', 'scanBoxes') }],
  search: searchBoxes,
})
