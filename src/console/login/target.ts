import { api, parseSearch } from '../kit/index.ts'

/** Only addresses of the console: a link must not lead elsewhere after a login. */
export const safe = (next: string | undefined) => (next?.startsWith('/') && !next.startsWith('//') ? next : '/')

/** Where to go after a login. */
export function targetOf(next: string | undefined) {
  const [path = '/', query = ''] = safe(next).split('?', 2)
  return { to: path, search: parseSearch(query) as never, replace: true }
}

export const loginWaysQuery = { queryKey: ['admin', 'login-ways'], queryFn: () => api.admin.showLoginWays(), staleTime: 60_000 } as const
