import { QueryClientProvider } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, RouterProvider } from '@tanstack/react-router'
import { I18nProvider } from 'react-aria-components'
import { Link, PageHeader, ProblemView, parseSearch, queryClient, stringifySearch } from './kit/index.ts'
import { loadLoginPage, loadProviderPage } from './login/index.ts'
import { features } from './pages.ts'
import { Shell } from './shell.tsx'

const root = createRootRoute()
const login = createRoute({ getParentRoute: () => root, path: '/login', component: lazyRouteComponent(loadLoginPage, 'LoginPage') })
const provider = createRoute({
  getParentRoute: () => root,
  path: '/login/provider',
  component: lazyRouteComponent(loadProviderPage, 'ProviderPage'),
})
const shell = createRoute({ getParentRoute: () => root, id: 'shell', component: Shell })
const pages = features
  .flatMap(({ pages }) => pages)
  .map(({ path, load }) => createRoute({ getParentRoute: () => shell, path, component: lazyRouteComponent(load, 'Page') }))
const missing = createRoute({ getParentRoute: () => shell, path: '$', component: NotFound })

function NotFound() {
  return (
    <>
      <PageHeader title="This page does not exist" />
      <Link to="/">Overview</Link>
    </>
  )
}

const router = createRouter({
  routeTree: root.addChildren([login, provider, shell.addChildren([...pages, missing])]),
  basepath: '/console',
  parseSearch,
  stringifySearch,
  // A dialog that was opened for one tenant must not ask about the next one.
  defaultRemountDeps: ({ params }) => params,
  defaultErrorComponent: ({ error }) => <ProblemView error={error} onRetry={() => location.reload()} />,
})

export const App = () => (
  <I18nProvider locale="en-GB">
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </I18nProvider>
)
