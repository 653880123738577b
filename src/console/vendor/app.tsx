import { QueryClientProvider } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, RouterProvider } from '@tanstack/react-router'
import { I18nProvider } from 'react-aria-components'
import { Link, PageHeader, ProblemView, parseSearch, stringifySearch } from '../kit/index.ts'
import { LoginPage } from './login-page.tsx'
import { OpenPage } from './open-page.tsx'
import { pages } from './pages.ts'
import { queryClient } from './queries.ts'
import { Shell, Start } from './shell.tsx'

const root = createRootRoute()
const login = createRoute({ getParentRoute: () => root, path: '/login', component: LoginPage })
const open = createRoute({ getParentRoute: () => root, path: '/open', component: OpenPage })
const shell = createRoute({ getParentRoute: () => root, id: 'shell', component: Shell })
const start = createRoute({ getParentRoute: () => shell, path: '/', component: Start })
const routes = pages.map(({ path, load }) =>
  createRoute({ getParentRoute: () => shell, path, component: lazyRouteComponent(load, 'Page') }),
)
const missing = createRoute({ getParentRoute: () => shell, path: '$', component: NotFound })

function NotFound() {
  return (
    <>
      <PageHeader title="This page does not exist" />
      <Link to="/items">Items</Link>
    </>
  )
}

const router = createRouter({
  routeTree: root.addChildren([login, open, shell.addChildren([start, ...routes, missing])]),
  basepath: '/vendor',
  parseSearch,
  stringifySearch,
  // A dialog that was opened for one item must not ask about the next one.
  defaultRemountDeps: ({ params }) => params,
  defaultErrorComponent: ({ error }) => <ProblemView error={error} onRetry={() => location.reload()} />,
})

export const App = () => (
  <QueryClientProvider client={queryClient}>
    <I18nProvider locale="en-GB">
      <RouterProvider router={router} />
    </I18nProvider>
  </QueryClientProvider>
)
