import { useQuery } from '@tanstack/react-query'
import type { ApiToken } from '../../core/admin/index.ts'
import { agoColumn, api, CliLine, Empty, ListPage, type TableColumn } from '../kit/index.ts'
import { words } from './words.ts'

const columns: readonly TableColumn<ApiToken>[] = [
  { key: 'token', title: 'Token', width: 'minmax(140px, 2fr)', value: ({ name }) => name },
  { key: 'role', title: 'Role', width: '96px', value: ({ role }) => role },
  { key: 'prefix', title: 'Prefix', width: '140px', value: ({ prefix }) => prefix, cell: ({ prefix }) => <code>{prefix}…</code> },
  agoColumn(['used', 'Last used'], ({ lastUsedAt }) => lastUsedAt, { none: words.never }),
  agoColumn(['expires', 'Expires'], ({ expiresAt }) => expiresAt),
  agoColumn(['created', 'Created'], ({ createdAt }) => createdAt),
  { key: 'by', title: 'Created by', width: 'minmax(110px, 1fr)', value: ({ createdBy }) => createdBy },
]

export function Page() {
  const query = useQuery({ queryKey: ['tokens', 'list'], queryFn: () => api.admin.listTokens() })
  return (
    <ListPage
      title={words.tokens}
      answer={query.data && words.tokensAnswer(query.data.tokens.length)}
      filters={[{ text: words.filterTokens, of: ({ name, createdBy }) => `${name} ${createdBy}` }]}
      query={query}
      rows={({ tokens }) => tokens}
      columns={columns}
      rowKey={({ id }) => id}
      empty={
        <Empty title={words.noTokens} tone="off">
          <p>{words.noTokensHint}</p>
          <CliLine>{'tenantry tokens create <name> --role viewer'}</CliLine>
        </Empty>
      }
      below={({ tokens }) => tokens.length > 0 && <CliLine>tenantry tokens list</CliLine>}
      reserve={240}
    />
  )
}
