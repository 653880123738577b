import { Link, useMay } from '../kit/index.ts'
import { words } from './words.ts'

type Tab = 'items' | 'submissions' | 'vendors'

/** The three lists of the marketplace. */
export function Tabs({ current }: Readonly<{ current: Tab }>) {
  const { allowed } = useMay('marketplace', 'listMarketplaceSubmissions')
  return (
    <nav className="tabs" aria-label={words.title}>
      <Link to="/marketplace" current={current === 'items'}>
        {words.items}
      </Link>
      {allowed && (
        <Link to="/marketplace/submissions" current={current === 'submissions'}>
          {words.submissions}
        </Link>
      )}
      <Link to="/marketplace/vendors" current={current === 'vendors'}>
        {words.vendors}
      </Link>
    </nav>
  )
}
