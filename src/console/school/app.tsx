import { QueryClientProvider } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, RouterProvider } from '@tanstack/react-router'
import { Link, PageHeader, ProblemView, parseSearch, stringifySearch } from '../kit/index.ts'
import { LoginPage } from './login-page.tsx'
import { pages } from './pages.ts'
import { queryClient } from './queries.ts'
import { Shell, Start } from './shell.tsx'
import { LanguageProvider, useWords } from './words.tsx'

const root = createRootRoute()
const login = createRoute({ getParentRoute: () => root, path: '/login', component: LoginPage })
const shell = createRoute({ getParentRoute: () => root, id: 'shell', component: Shell })
const start = createRoute({ getParentRoute: () => shell, path: '/', component: Start })
const routes = pages.map(({ path, load }) =>
  createRoute({ getParentRoute: () => shell, path, component: lazyRouteComponent(load, 'Page') }),
)
const missing = createRoute({ getParentRoute: () => shell, path: '$', component: NotFound })

function NotFound() {
  const words = useWords()
  return (
    <>
      <PageHeader title={words.notFound} />
      <Link to="/">{words.title}</Link>
    </>
  )
}

const router = createRouter({
  routeTree: root.addChildren([login, shell.addChildren([start, ...routes, missing])]),
  basepath: '/school',
  parseSearch,
  stringifySearch,
  // A dialog that was opened for one person must not ask about the next one.
  defaultRemountDeps: ({ params }) => params,
  defaultErrorComponent: ({ error }) => <ProblemView error={error} onRetry={() => location.reload()} />,
})

export const App = ({ first }: Readonly<{ first: Parameters<typeof LanguageProvider>[0]['first'] }>) => (
  <QueryClientProvider client={queryClient}>
    <LanguageProvider first={first}>
      <RouterProvider router={router} />
    </LanguageProvider>
  </QueryClientProvider>
)
