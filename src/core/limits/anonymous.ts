import type { Bound } from '../contract/index.ts'

/**
 * Bounds of calls without a login, of all addresses together. A place stays empty for `restMs` after it let a call begin, so `parallel` calls
 * begin in that time: of the console, all files of a page at once. An answer takes a few tenths of a millisecond of the thread: all classes but
 * logins and sessions together leave nine tenths of it to users. A class cannot delay another one.
 */
export const anonymousBounds = {
  page: { work: 'needs no login', perCaller: 64, parallel: 2, waiting: 500, maxWaitSeconds: 10, restMs: 40 },
  console: {
    work: 'loads a file of the console or of the pages of schools and vendors',
    perCaller: 300,
    parallel: 40,
    waiting: 500,
    maxWaitSeconds: 10,
    restMs: 800,
  },
  health: { work: 'checks the health of the daemon', perCaller: 20, parallel: 2, waiting: 100, maxWaitSeconds: 5, restMs: 100 },
  signed: { work: 'delivers an event of the payment provider', perCaller: 64, parallel: 2, waiting: 200, maxWaitSeconds: 10, restMs: 100 },
  login: { work: 'logs in', perCaller: 64, parallel: 10, waiting: 500, maxWaitSeconds: 10, restMs: 200 },
  session: { work: 'refreshes or ends a session', perCaller: 64, parallel: 40, waiting: 4000, maxWaitSeconds: 10, restMs: 100 },
  refusal: { work: 'is refused', perCaller: 300, parallel: 5, waiting: 1000, maxWaitSeconds: 10, restMs: 50 },
} as const satisfies Record<string, Bound & Required<Pick<Bound, 'parallel' | 'waiting' | 'restMs'>>>

export type AnonymousClass = keyof typeof anonymousBounds

/** A chat server hashes the password that a link sets. */
const logins = [
  '/api/auth/v1/login',
  '/api/auth/v1/school/login',
  '/api/auth/v1/password/',
  '/api/admin/v1/login',
  '/api/admin/v1/console/',
]
/** Served with their files by the daemon. */
const pages = ['/console', '/school', '/vendor']
const healthPaths = ['/healthz', '/readyz', '/metrics']

/** The class of a call to the route of an endpoint that needs no login. */
export function anonymousClassOf(route: string): Exclude<AnonymousClass, 'refusal'> {
  const isBelow = (prefix: string) => route.startsWith(prefix)
  if (logins.some(isBelow)) return 'login'
  if (isBelow('/api/auth/')) return 'session'
  if (healthPaths.includes(route)) return 'health'
  if (isBelow('/api/webhooks/')) return 'signed'
  return pages.some((page) => route === page || isBelow(`${page}/`)) ? 'console' : 'page'
}
