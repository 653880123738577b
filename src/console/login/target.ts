import { useEffect, useState } from 'react'
import { api, parseSearch } from '../kit/index.ts'

/** Only addresses of the console: a link must not lead elsewhere after a login. */
export const safe = (next: string | undefined) => (next?.startsWith('/') && !next.startsWith('//') ? next : '/')

/** Where to go after a login. */
export function targetOf(next: string | undefined) {
  const [path = '/', query = ''] = safe(next).split('?', 2)
  return { to: path, search: parseSearch(query) as never, replace: true }
}

type LoginWays = Awaited<ReturnType<typeof api.admin.showLoginWays>>

/** How operators may log in here, beside name and password. Not a query: the end of a session clears those. */
export function useLoginWays(): LoginWays | undefined {
  const [ways, setWays] = useState<LoginWays>()
  useEffect(() => {
    void api.admin.showLoginWays().then(setWays, () => undefined)
  }, [])
  return ways
}
