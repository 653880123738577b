import { useQuery } from '@tanstack/react-query'
import { type Account, type AccountStatus, accountStatus, accountStatuses, secondFactorOf } from '../../core/admin/index.ts'
import { adminRoles } from '../../core/contract/index.ts'
import { agoColumn, api, CliLine, ListPage, Status, statusColumn, type TableColumn, type Tone, useNow } from '../kit/index.ts'
import { words } from './words.ts'

const tones = { active: 'ok', 'not set up': 'waiting', locked: 'failed', disabled: 'off' } as const satisfies Record<AccountStatus, Tone>

export function Page() {
  const now = useNow()
  const query = useQuery({ queryKey: ['accounts', 'list'], queryFn: () => api.admin.listAccounts() })
  const statusOf = (account: Account) => accountStatus(account, now)
  const columns: readonly TableColumn<Account>[] = [
    { key: 'account', title: 'Account', width: 'minmax(140px, 2fr)', value: ({ name }) => name },
    { key: 'role', title: 'Role', width: '96px', value: ({ role }) => role },
    statusColumn(statusOf, tones, { width: '124px' }),
    {
      key: 'totp',
      title: 'TOTP',
      width: '108px',
      value: secondFactorOf,
      cell: (account) => <Status tone={secondFactorOf(account) === 'off' ? 'off' : 'ok'}>{secondFactorOf(account)}</Status>,
    },
    agoColumn(['login', 'Last login'], ({ lastLoginAt }) => lastLoginAt, { none: words.never }),
    agoColumn(['created', 'Created'], ({ createdAt }) => createdAt),
    { key: 'by', title: 'Created by', width: 'minmax(110px, 1fr)', value: ({ createdBy }) => createdBy },
    { key: 'id', title: 'Id', width: 'minmax(110px, 1fr)', value: ({ id }) => id },
  ]
  return (
    <ListPage
      title={words.accounts}
      answer={
        query.data &&
        words.accountsAnswer(query.data.accounts.length, query.data.accounts.filter((one) => statusOf(one) === 'locked').length)
      }
      filters={[
        { text: words.filterAccounts, of: ({ name }) => name },
        { label: 'Role', name: 'role', choices: adminRoles, of: ({ role }) => role },
        { label: 'Status', name: 'status', choices: accountStatuses, of: statusOf },
      ]}
      query={query}
      rows={({ accounts }) => accounts}
      columns={columns}
      rowKey={({ id }) => id}
      empty={null}
      below={() => <CliLine>tenantry accounts list</CliLine>}
      reserve={240}
    />
  )
}
