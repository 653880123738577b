import { useQuery } from '@tanstack/react-query'
import { Outlet, useLocation, useNavigate } from '@tanstack/react-router'
import { Suspense, useEffect } from 'react'
import { isProblem } from '../../core/kit/index.ts'
import { Link, Loading, onSessionEnd, ProblemView } from '../kit/index.ts'
import { pages } from './pages.ts'
import { accountQuery, queryClient } from './queries.ts'

/** Header and navigation around every page of an account. Without a session it leads to the form that asks for a link. */
export function Shell() {
  const account = useQuery(accountQuery)
  const navigate = useNavigate()
  const isLoggedOut = isProblem(account.error, 'UNAUTHENTICATED')
  useEffect(() => {
    // Nothing stays for the next person.
    const leave = () => void navigate({ to: '/login', replace: true }).then(() => queryClient.clear())
    if (isLoggedOut) leave()
    return onSessionEnd(leave)
  }, [isLoggedOut, navigate])
  if (account.data && !isLoggedOut) return <Frame email={account.data.email} />
  return (
    <main>
      {account.isError && !isLoggedOut ? <ProblemView error={account.error} onRetry={() => void account.refetch()} /> : <Loading />}
    </main>
  )
}

/** Names the account: the link may have been somebody else's. */
function Frame({ email }: Readonly<{ email: string }>) {
  const { pathname } = useLocation()
  const here = pathname.replace(/^\/vendor/, '')
  // On a phone the navigation scrolls sideways.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page has another entry
  useEffect(() => {
    document.querySelector('.page-link[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [here])
  return (
    <div className="headed">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="page-bar">
        <Link to="/items" className="page-name">
          Marketplace
        </Link>
        <nav aria-label="Pages" className="page-nav">
          {pages
            .filter(({ nav }) => nav !== undefined)
            .map(({ path, nav }) => (
              <Link key={path} to={path} className="page-link" current={here === path || here.startsWith(`${path}/`)}>
                {nav}
              </Link>
            ))}
        </nav>
        <span className="dim">{email}</span>
      </header>
      <main id="main" tabIndex={-1} aria-labelledby="page-title">
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
    </div>
  )
}

export function Start() {
  const navigate = useNavigate()
  useEffect(() => void navigate({ to: '/items', replace: true }), [navigate])
  return <Loading />
}
