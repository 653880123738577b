import type { ComponentType } from 'react'
import type { Capability } from '../../core/kit/index.ts'
import type { Words } from './words/en.ts'

type SchoolPage = Readonly<{
  /** Below /school, in the form of the router. */
  path: string
  /** Its file exports `Page` and is loaded when it is opened. */
  load(): Promise<{ Page: ComponentType }>
  /** Its title in the navigation; a page without one is reached from another. */
  nav?: (words: Words) => string
  /** One of these opens it; absent: every user. */
  needs?: readonly Capability[]
}>

/** Every page, in the order of the navigation. */
export const pages: readonly SchoolPage[] = [
  { path: '/people', load: () => import('./people-page.tsx'), nav: ({ people }) => people.title, needs: ['manageUsers'] },
  { path: '/people/new', load: () => import('./new-person-page.tsx'), needs: ['manageUsers'] },
  { path: '/people/import', load: () => import('./import-page.tsx'), needs: ['manageUsers'] },
  { path: '/people/$userId', load: () => import('./person-page.tsx'), needs: ['manageUsers'] },
  { path: '/record', load: () => import('./record-page.tsx'), nav: ({ record }) => record.title, needs: ['readAudit'] },
  { path: '/bills', load: () => import('./bills-page.tsx'), nav: ({ bills }) => bills.title, needs: ['manageBilling'] },
  { path: '/spaces', load: () => import('./spaces-page.tsx'), nav: ({ spaces }) => spaces.title, needs: ['manageSpaces', 'manageRuns'] },
  { path: '/boards', load: () => import('./boards-page.tsx'), nav: ({ boards }) => boards.title, needs: ['manageBoards'] },
  { path: '/boards/$boardId', load: () => import('./runs-page.tsx'), needs: ['manageBoards'] },
  {
    path: '/modules',
    load: () => import('./modules-page.tsx'),
    nav: ({ modules }) => modules.title,
    needs: ['manageModules', 'manageMarketplace'],
  },
  { path: '/appearance', load: () => import('./appearance-page.tsx'), nav: ({ appearance }) => appearance, needs: ['manageUsers'] },
  { path: '/account', load: () => import('./account-page.tsx'), nav: ({ account }) => account.title },
]

/** The page of an address: `/people/usr_…` is that of one person. */
export const pageOf = (pathname: string): SchoolPage | undefined =>
  pages.find(({ path }) => path === pathname) ?? pages.find(({ path }) => isBelow(pathname, path))

const isBelow = (pathname: string, path: string): boolean => {
  const [parts, form] = [pathname.split('/'), path.split('/')]
  return parts.length === form.length && form.every((part, at) => part.startsWith('$') || part === parts[at])
}

/** Whether these capabilities open a page. */
export const opens = ({ needs }: Pick<SchoolPage, 'needs'>, capabilities: readonly Capability[]): boolean =>
  !needs || needs.some((one) => capabilities.includes(one))
