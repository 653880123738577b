// Modules: how the approved modules run over all tenants, and their withdrawal.
// It shows counts and times, never data of a tenant.
import { consoleFeature } from '../kit/index.ts'
import { words } from './words.ts'

export const modulesConsole = consoleFeature({
  name: 'modules',
  pages: [
    {
      path: '/modules',
      title: words.title,
      load: () => import('./modules-page.tsx'),
      nav: { group: 'Platform', label: words.title, order: 20 },
    },
    { path: '/modules/$id', title: words.module, load: () => import('./module-page.tsx') },
  ],
  live: { 'module.': ['modules'] },
})
