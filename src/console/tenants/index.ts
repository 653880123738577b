// Tenants: organisations, their users with roles and sessions, their storage, and how much of their request budget they use.
// It never shows what a tenant writes: no message, file or form value.
import { consoleFeature } from '../kit/index.ts'
import { titles } from './titles.ts'

export const tenantsConsole = consoleFeature({
  name: 'tenants',
  pages: [
    {
      path: '/tenants',
      title: titles.title,
      load: () => import('./tenants-page.tsx'),
      nav: { group: 'Platform', label: titles.title, order: 10, shortcut: 't' },
    },
    { path: '/tenants/$slug', title: titles.title, load: () => import('./tenant-page.tsx') },
    { path: '/tenants/$slug/users/$user', title: titles.users, load: () => import('./user-page.tsx') },
    {
      path: '/limits',
      title: titles.limits,
      load: () => import('./limits-page.tsx'),
      nav: { group: 'Platform', label: titles.limits, order: 90, shortcut: 'q' },
    },
  ],
  live: { 'tenant.': ['tenants'], 'user.': ['users'] },
})
