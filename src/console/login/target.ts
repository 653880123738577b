import { useEffect, useState } from 'react'
import { api, parseSearch } from '../kit/index.ts'

/** Only addresses of the console: a link must not lead elsewhere after a login. */
export const safe = (next: string | undefined) => (next?.startsWith('/') && !next.startsWith('//') ? next : '/')

/** Where to go after a login. */
export function targetOf(next: string | undefined) {
  const [path = '/', query = ''] = safe(next).split('?', 2)
  return { to: path, search: parseSearch(query) as never, replace: true }
}

/** The name of the company account, where the daemon has one. Not a query: the end of a session clears those. */
export function useProviderName(): string | undefined {
  const [name, setName] = useState<string>()
  useEffect(() => {
    void api.admin.showLoginWays().then(
      ({ provider }) => setName(provider ?? undefined),
      () => undefined,
    )
  }, [])
  return name
}
