import { useQuery } from '@tanstack/react-query'
import { Outlet, useLocation, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useEffect, useState } from 'react'
import { roleAtLeast } from '../core/contract/index.ts'
import { openAlertsQuery } from './alerts/index.ts'
import {
  Ago,
  type Badge,
  Brand,
  Button,
  followEvents,
  hasKeys,
  Icon,
  Link,
  Loading,
  navGroups,
  onSessionEnd,
  ProblemView,
  paletteKey,
  queryClient,
  timeOfDay,
  useAsOf,
  useCriticalInTitle,
  useNow,
  useRole,
  useStreamState,
  whoAmIQuery,
} from './kit/index.ts'
import { Logout, Reauthenticate, ThemeButton } from './login/index.ts'
import { features } from './pages.ts'
import { useShortcuts } from './shortcuts.ts'

const loadPalette = () => import('./palette.tsx')
const Palette = lazy(loadPalette)
const Help = lazy(() => import('./help.tsx'))

/** Query keys to refresh, by the beginning of an event's type. */
const affected = features.reduce<Record<string, readonly string[]>>((all, { live = {} }) => {
  for (const [begin, keys] of Object.entries(live)) all[begin] = [...(all[begin] ?? []), ...keys]
  return all
}, {})

/** Navigation and header around every page but the login. Without a session it leads to the login, and back to the same page. */
export function Shell() {
  const identity = useQuery(whoAmIQuery)
  const toLogin = useLoginRedirect()
  const setup = identity.data?.setup.length ?? 0
  useEffect(() => onSessionEnd(toLogin), [toLogin])
  // The answer itself leads to the login too: it may have come before anybody listened for the end of the session.
  const isLoggedOut = identity.error !== null && 'code' in identity.error && identity.error.code === 'UNAUTHENTICATED'
  useEffect(() => {
    if (setup > 0 || isLoggedOut) toLogin()
  }, [setup, isLoggedOut, toLogin])
  // A later failure leaves the page: the banner says that the daemon is away.
  if (identity.isError && !identity.data)
    return (
      <main>
        <ProblemView error={identity.error} onRetry={() => void identity.refetch()} />
      </main>
    )
  if (!identity.data || setup > 0)
    return (
      <main>
        <Loading />
      </main>
    )
  return <Frame />
}

function useLoginRedirect(): () => void {
  const navigate = useNavigate()
  const { href } = useLocation()
  const [leave] = useState(() => ({ href }))
  leave.href = href
  const [redirect] = useState(() => () => {
    const next = leave.href.replace(/^\/console/, '') || '/'
    // The login page is still loading: a second failed call must not replace where it leads to.
    if (next.startsWith('/login')) return
    const leaving = navigate({ to: '/login', search: { next } as never, replace: true })
    // Not earlier: a query that is removed while it is asked never says how it ended, and this page would wait for it.
    void leaving.then(() => queryClient.removeQueries({ queryKey: whoAmIQuery.queryKey }))
  })
  return redirect
}

function Frame() {
  const [palette, setPalette] = useState(false)
  const [help, setHelp] = useState(false)
  const [nav, setNav] = useState(false)
  const { pathname } = useLocation()
  useCriticalInTitle(useQuery(openAlertsQuery).data?.alerts.filter(({ severity }) => severity === 'critical').length ?? 0)
  useEffect(() => {
    const stop = new AbortController()
    void followEvents(affected, stop.signal)
    void loadPalette() // keys that are pressed while it loads would be lost
    return () => stop.abort()
  }, [])
  const onPalette = useCallback(() => setPalette((shown) => !shown), [])
  const onHelp = useCallback(() => setHelp(true), [])
  useShortcuts({ onPalette, onHelp })
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the navigation of a narrow window
  useEffect(() => setNav(false), [pathname])
  return (
    <div className={`shell${nav ? ' nav-open' : ''}`}>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <Navigation pathname={pathname} />
      <div className="content">
        <Topbar onPalette={onPalette} onHelp={onHelp} onNav={() => setNav((shown) => !shown)} />
        <Banner />
        <main id="main" tabIndex={-1} aria-labelledby="page-title">
          <Suspense fallback={<Loading />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      {palette && (
        <Suspense fallback={null}>
          <Palette onClose={() => setPalette(false)} />
        </Suspense>
      )}
      <Reauthenticate />
      {help && (
        <Suspense fallback={null}>
          <Help onClose={() => setHelp(false)} />
        </Suspense>
      )}
    </div>
  )
}

function Navigation({ pathname }: Readonly<{ pathname: string }>) {
  const role = useRole()
  const here = pathname.replace(/^\/console/, '') || '/'
  const entries = features.flatMap(({ pages }) => pages).filter((page) => page.nav && roleAtLeast(role, page.role ?? 'viewer'))
  const isHere = (path: string) => (path === '/' ? here === '/' : here === path || here.startsWith(`${path}/`))
  return (
    <nav className="nav" aria-label="Pages">
      <Link to="/" className="brand">
        <Brand />
      </Link>
      {navGroups.map((group) => {
        const inGroup = entries.filter(({ nav }) => nav?.group === group).toSorted((a, b) => (a.nav?.order ?? 0) - (b.nav?.order ?? 0))
        if (inGroup.length === 0) return null
        return (
          <div key={group}>
            <h2>{group}</h2>
            <ul>
              {inGroup.map(({ path, nav }) => (
                <li key={path}>
                  <NavLink to={path} current={isHere(path)} {...(nav?.useBadge ? { useBadge: nav.useBadge } : {})}>
                    {nav?.label ?? ''}
                  </NavLink>
                </li>
              ))}
            </ul>
          </div>
        )
      })}
      <div className="nav-foot">
        <ThemeButton />
        <Logout />
      </div>
    </nav>
  )
}

type NavLinkProps = Readonly<{ to: string; current: boolean; children: string; useBadge?: () => Badge | undefined }>

const noBadge = () => undefined

function NavLink({ to, current, children, useBadge = noBadge }: NavLinkProps) {
  const badge = useBadge()
  return (
    <Link to={to} className="nav-link" {...(current ? { current } : {})}>
      {children}
      {badge && badge.count > 0 && (
        <span className={`badge tone-${badge.tone}`}>
          <span aria-hidden="true">{badge.count}</span>
          <span className="unseen">{badge.label}</span>
        </span>
      )}
    </Link>
  )
}

function Topbar({ onPalette, onHelp, onNav }: Readonly<{ onPalette(): void; onHelp(): void; onNav(): void }>) {
  return (
    <header className="topbar">
      <span className="menu-toggle">
        <Button look="quiet" onPress={onNav} aria-label="Pages">
          ☰
        </Button>
      </span>
      <span className="crumb" />
      <AsOf />
      <Button look="quiet" onPress={onPalette}>
        <span className={hasKeys ? 'unseen' : undefined}>{hasKeys ? 'Search and commands' : 'Search'}</span>
        {hasKeys && <span className="kbd">{paletteKey}</span>}
      </Button>
      {hasKeys && (
        <Button look="quiet" onPress={onHelp}>
          <span className="unseen">Keys</span>
          <span className="kbd">?</span>
        </Button>
      )}
    </header>
  )
}

const staleMs = 30_000

/** The age of the oldest data on screen. */
function AsOf() {
  const asOf = useAsOf()
  const now = useNow()
  if (asOf === undefined) return null
  const isStale = now.getTime() - asOf > staleMs
  return (
    <span className={`as-of${isStale ? ' stale' : ''}`}>
      {isStale && <Icon tone="warning" />} as of {timeOfDay(asOf)}
    </span>
  )
}

function Banner() {
  const { state, since } = useStreamState()
  if (state !== 'away') return null
  return (
    <div className="banner" role="status">
      <Icon tone="warning" />
      <span>
        The daemon does not answer (lost <Ago at={new Date(since).toISOString()} />
        ). What you see is from before; the page reconnects by itself.
      </span>
    </div>
  )
}
