// Modules: how the approved modules run over all tenants, and their withdrawal.
// It shows counts and times, never data of a tenant.
import { consoleFeature } from '../kit/index.ts'
import { titles } from './titles.ts'

export const modulesConsole = consoleFeature({
  name: 'modules',
  pages: [
    {
      path: '/modules',
      title: titles.title,
      load: () => import('./modules-page.tsx'),
      nav: { group: 'Platform', label: titles.title, order: 20, shortcut: 'd' },
    },
    { path: '/modules/$id', title: titles.module, load: () => import('./module-page.tsx') },
  ],
  live: { 'module.': ['modules'] },
})
