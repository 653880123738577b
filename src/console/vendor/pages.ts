import type { ComponentType } from 'react'

type VendorPage = Readonly<{
  /** Below /vendor, in the form of the router. */
  path: string
  /** Its file exports `Page` and is loaded when it is opened. */
  load(): Promise<{ Page: ComponentType }>
  /** Its title in the navigation; a page without one is reached from another. */
  nav?: string
}>

/** Every page, in the order of the navigation. */
export const pages: readonly VendorPage[] = [
  { path: '/items', load: () => import('./items-page.tsx'), nav: 'Items' },
  { path: '/items/$id', load: () => import('./item-page.tsx') },
  { path: '/submissions', load: () => import('./submissions-page.tsx'), nav: 'Submissions' },
  { path: '/submissions/$id', load: () => import('./submission-page.tsx') },
  { path: '/sales', load: () => import('./sales-page.tsx'), nav: 'Sales' },
  { path: '/payouts', load: () => import('./payouts-page.tsx'), nav: 'Payouts' },
  { path: '/account', load: () => import('./account-page.tsx'), nav: 'Account' },
]
