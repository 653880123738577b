import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { api, Brand, Link, ProblemView, queryClient, usePageTitle } from '../kit/index.ts'
import { targetOf } from './target.ts'
import { words } from './words.ts'

/** Where the provider leads back to: its answer opens the session. */
export function ProviderPage() {
  const navigate = useNavigate()
  const [error, setError] = useState<unknown>()
  usePageTitle(words.title)
  useEffect(() => {
    const query = location.search
    // The answer counts once; a page that is loaded again has none.
    history.replaceState(history.state, '', location.pathname)
    if (query.length < 2) return void navigate({ to: '/login', replace: true })
    api.admin.finishProviderLogin({ body: { query } }).then(
      ({ next }) => {
        queryClient.clear()
        void navigate(targetOf(next))
      },
      (failure: unknown) => setError(failure),
    )
  }, [navigate])
  return (
    <main className="login">
      <div>
        <p className="brand">
          <Brand />
        </p>
        <h1>{words.title}</h1>
        {error === undefined ? <p role="status">{words.provider}</p> : <ProblemView error={error} />}
        {error !== undefined && <Link to="/login">{words.begin}</Link>}
      </div>
    </main>
  )
}
