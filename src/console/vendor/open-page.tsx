import { useNavigate, useSearch } from '@tanstack/react-router'
import { api, Link, Sheet, useAttempt, usePageTitle } from '../kit/index.ts'
import { queryClient } from './queries.ts'

/** The page behind the link of a mail. Mail scanners open links: only the button opens a session. */
export function OpenPage() {
  const { token = '' } = useSearch({ strict: false }) as { token?: string }
  const navigate = useNavigate()
  const { busy, error, attempt } = useAttempt()
  usePageTitle('Open your account')
  const open = () =>
    attempt(async () => {
      await api.vendor.openVendorPage({ body: { token } })
      queryClient.clear()
      await navigate({ to: '/items', replace: true })
    })
  return (
    <main className="login">
      <div>
        <Sheet
          title="Open your account"
          hint="This opens the account of the address that the mail went to, for 8 hours. Open it only if you asked for the mail."
          {...{ busy, error }}
          onSubmit={open}
          submit="Open account"
        />
        {error !== undefined && <Link to="/login">Ask for a new link</Link>}
      </div>
    </main>
  )
}
