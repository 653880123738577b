// Manifest: the versions that boxes should run, its history, and a new one with its difference before it is applied.
// Applying changes no box; rollouts do.
import { consoleFeature, roleFor } from '../kit/index.ts'
import { titles } from './titles.ts'

export const manifestConsole = consoleFeature({
  name: 'manifest',
  pages: [
    {
      path: '/manifest',
      title: titles.title,
      load: () => import('./manifest-page.tsx'),
      nav: { group: 'Fleet', label: titles.title, order: 1, shortcut: 'm' },
    },
    { path: '/manifest/new', title: titles.newTitle, load: () => import('./new-page.tsx') },
  ],
  actions: [{ id: 'new manifest', label: titles.create, detail: 'action', to: '/manifest/new', role: roleFor('boxes', 'applyManifest') }],
})
