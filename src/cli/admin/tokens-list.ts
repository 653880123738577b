import type { ApiToken } from '../../core/admin/index.ts'
import { ago, type Column, command, type Style, table } from '../kit/index.ts'

const columns = ({ now }: Style): Column<ApiToken>[] => [
  { title: 'TOKEN', value: ({ name }) => name, priority: 1, minWidth: 12 },
  { title: 'ROLE', value: ({ role }) => role, priority: 1 },
  { title: 'BEGINS', value: ({ prefix }) => `${prefix}…`, priority: 3 },
  { title: 'USED', value: ({ lastUsedAt }) => ago(lastUsedAt, now), priority: 2 },
  { title: 'ENDS', value: ({ expiresAt }) => ago(expiresAt, now), priority: 1 },
  { title: 'BY', value: ({ createdBy }) => createdBy, priority: 3, minWidth: 8 },
  { title: 'ID', value: ({ id }) => id, priority: 5 },
]

export const listTokens = command(
  'list',
  'API tokens that still work',
  {},
  ({ api }) => api.admin.listTokens(),
  ({ tokens }, style) =>
    tokens.length === 0 ? 'No API tokens. Make one: tenantry tokens create <name> --role viewer' : table(style, columns(style), tokens),
)
