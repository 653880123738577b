import type { ApiToken } from '../../core/admin/index.ts'
import { ago, type Column, command, count, fields, oneOf, required, type Style, sections, stamp, table } from '../kit/index.ts'

import { findByName } from './accounts.ts'

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

export const createToken = command(
  'create <name>',
  'An API token for scripts, shown once; it ends with the account that made it',
  {
    role: required(oneOf('--role <role>', 'what it may do', ['viewer', 'reviewer', 'operator'])),
    days: count('--days <days>', 'how long it works, at most 365 (default: 90)'),
  },
  ({ api }, { name, role, days }) => api.admin.createToken({ body: { name, role, ...(days ? { days } : {}) } }),
  ({ name, role, token, expiresAt }, style) =>
    sections(
      fields(style, [
        ['token', style.paint.bold(token)],
        ['name', name],
        ['role', role],
        ['works until', stamp(expiresAt, style.now)],
      ]),
      'It is shown only now. Scripts give it as TENANTRY_TOKEN.',
    ),
)

export const revokeToken = command(
  'revoke <token>',
  'End an API token on every replica within a second',
  {},
  async ({ api }, { token: given }) => {
    const { id } = findByName((await api.admin.listTokens()).tokens, given, 'tokens')
    return api.admin.revokeToken({ params: { id } })
  },
  (_, { paint }, { token }) => `${paint.green('Revoked')} ${token}.`,
)
