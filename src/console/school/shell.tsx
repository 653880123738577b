import { useQuery } from '@tanstack/react-query'
import { Outlet, useLocation, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import type { Capability } from '../../core/kit/index.ts'
import { isProblem } from '../../core/kit/index.ts'
import { Empty, Link, Loading, onSessionEnd, PageHeader, ProblemView } from '../kit/index.ts'
import { opens, pageOf, pages } from './pages.ts'
import { maintenanceQuery, queryClient, sessionQuery, useSession } from './queries.ts'
import { useLanguage, useWords } from './words.tsx'

const base = '/school'
const below = (pathname: string) => pathname.replace(new RegExp(`^${base}`), '') || '/'

/** Header and navigation around every page but the login. Without a session it leads to the login, and back to the same page. */
export function Shell() {
  const session = useQuery(sessionQuery)
  const toLogin = useLoginRedirect()
  const isLoggedOut = isProblem(session.error, 'UNAUTHENTICATED') || session.data?.passwordChangeRequired === true
  const { learnLocale } = useLanguage()
  const locale = session.data?.user.locale ?? null
  useEffect(() => onSessionEnd(toLogin), [toLogin])
  useEffect(() => learnLocale(locale), [learnLocale, locale])
  useEffect(() => {
    if (isLoggedOut) toLogin()
  }, [isLoggedOut, toLogin])
  if (session.isError && !session.data)
    return (
      <main>
        <ProblemView error={session.error} onRetry={() => void session.refetch()} />
      </main>
    )
  if (!session.data || isLoggedOut)
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
    const next = below(leave.href)
    if (next.startsWith('/login')) return
    const leaving = navigate({ to: '/login', search: { next } as never, replace: true })
    // Nothing stays for the next person.
    void leaving.then(() => queryClient.clear())
  })
  return redirect
}

/** Loaded where there is maintenance to show. */
const MaintenanceNotice = lazy(async () => ({ default: (await import('./maintenance.tsx')).MaintenanceNotice }))

function Frame() {
  const words = useWords()
  const { branding, capabilities } = useSession()
  const { data: notice } = useQuery(maintenanceQuery)
  const { pathname } = useLocation()
  const here = below(pathname)
  const page = pageOf(here)
  // On a phone the navigation scrolls sideways.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page has another entry
  useEffect(() => {
    document.querySelector('.page-link[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [here])
  return (
    <div className="headed">
      <a className="skip" href="#main">
        {words.skip}
      </a>
      <header className="page-bar" style={branding.color ? { borderTop: `4px solid ${branding.color}` } : {}}>
        <Link to="/" className="page-name">
          {branding.logoPath && <img src={branding.logoPath} alt="" className="school-logo" />}
          {branding.tenantName}
        </Link>
        <nav aria-label={words.menu} className="page-nav">
          {pages
            .filter((one) => one.nav && opens(one, capabilities))
            .map(({ path, nav }) => (
              <Link key={path} to={path} className="page-link" current={here === path || here.startsWith(`${path}/`)}>
                {nav?.(words) ?? ''}
              </Link>
            ))}
        </nav>
      </header>
      <main id="main" tabIndex={-1} aria-labelledby="page-title">
        {notice && notice.maintenance.length > 0 && (
          <Suspense>
            <MaintenanceNotice {...notice} />
          </Suspense>
        )}
        <Suspense fallback={<Loading />}>{page && !opens(page, capabilities) ? <MayNot needs={page.needs ?? []} /> : <Outlet />}</Suspense>
      </main>
    </div>
  )
}

function MayNot({ needs: [first] }: Readonly<{ needs: readonly Capability[] }>) {
  const words = useWords()
  return (
    <>
      <PageHeader title={words.title} />
      <Empty title={first ? words.mayNot(first) : words.notFound} tone="off" />
    </>
  )
}

/** The first page that the user may open. */
export function Start() {
  const words = useWords()
  const { capabilities } = useSession()
  const navigate = useNavigate()
  const first = pages.find((one) => one.nav && one.needs && opens(one, capabilities))
  useEffect(() => {
    if (first) void navigate({ to: first.path, replace: true })
  }, [first, navigate])
  if (first) return <Loading />
  return (
    <>
      <PageHeader title={words.title} />
      <Empty title={words.noPages} tone="off">
        <Link to="/account">{words.account.title}</Link>
      </Empty>
    </>
  )
}
