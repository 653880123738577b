// Snapshots: what a box can return to, and whether that was proven. Take, test-restore and restore, each with its consequence first.
// Retention is the daemon's: nothing is deleted here.
import { consoleFeature, roleFor } from '../kit/index.ts'
import { titles } from './titles.ts'

export const snapshotsConsole = consoleFeature({
  name: 'snapshots',
  pages: [
    {
      path: '/snapshots',
      title: titles.list,
      load: () => import('./snapshots-page.tsx'),
      nav: { group: 'Fleet', label: titles.list, order: 4, shortcut: 's' },
    },
  ],
  actions: [
    { id: 'take', label: 'Take a snapshot…', detail: 'action', to: '/snapshots', asks: 'take', role: roleFor('snapshots', 'takeSnapshot') },
  ],
  live: { 'box.': ['snapshots'] },
})
