// Manifest: the versions that boxes should run, its history, and a new one with its difference before it is applied.
// Applying changes no box; rollouts do.
import { consoleFeature, roleFor } from '../kit/index.ts'
import { words } from './words.ts'

export const manifestConsole = consoleFeature({
  name: 'manifest',
  pages: [
    {
      path: '/manifest',
      title: words.title,
      load: () => import('./manifest-page.tsx'),
      nav: { group: 'Fleet', label: words.title, order: 1, shortcut: 'm' },
    },
    { path: '/manifest/new', title: words.newTitle, load: () => import('./new-page.tsx') },
  ],
  actions: [{ id: 'new manifest', label: words.create, detail: 'action', to: '/manifest/new', role: roleFor('boxes', 'applyManifest') }],
})
