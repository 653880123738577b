import type { ApiToken } from '../../core/admin/index.ts'
import { ago, type Column, command, count, fields, oneOf, required, type Style, sections, stamp, table } from '../kit/index.ts'
import { findByName } from './accounts.ts'

const columns = ({ now }: Style): Column<ApiToken>[] => [
  { title: 'TOKEN', value: ({ name }) => name, priority: 1, minWidth: 12 },
  { title: 'ROLE', value: ({ role }) => role, priority: 1 },
  { title: 'PREFIX', value: ({ prefix }) => `${prefix}…`, priority: 3 },
  { title: 'LAST USED', value: ({ lastUsedAt }) => ago(lastUsedAt, now), priority: 2 },
  { title: 'EXPIRES', value: ({ expiresAt }) => ago(expiresAt, now), priority: 1 },
  { title: 'CREATED BY', value: ({ createdBy }) => createdBy, priority: 3, minWidth: 8 },
  { title: 'ID', value: ({ id }) => id, priority: 5 },
]

export const listTokens = command('list', 'List valid API tokens', {
  run: ({ api }) => api.admin.listTokens(),
  view: ({ tokens }, style) =>
    tokens.length === 0 ? 'No API tokens. Create one: tenantry tokens create <name> --role viewer' : table(style, columns(style), tokens),
})

export const createToken = command('create <name>', 'Create an API token for scripts', {
  options: {
    role: required(oneOf('--role <role>', 'role of the token', ['viewer', 'reviewer', 'operator'])),
    days: count('--days <days>', 'validity in days, at most 365 (default: 90)'),
  },
  run: ({ api }, { name, role, days }) => api.admin.createToken({ body: { name, role, ...(days ? { days } : {}) } }),
  view: ({ name, role, token, expiresAt }, style) =>
    sections(
      fields(style, [
        ['token', style.paint.bold(token)],
        ['name', name],
        ['role', role],
        ['expires', stamp(expiresAt, style.now)],
      ]),
      'Save it now, it is not shown again. Scripts pass it as TENANTRY_TOKEN.\nIt is revoked when your account is disabled.',
    ),
})

export const revokeToken = command('revoke <token>', 'Revoke an API token on all replicas', {
  run: async ({ api }, { token: nameOrId }) => {
    const { id } = findByName((await api.admin.listTokens()).tokens, nameOrId, 'token')
    return api.admin.revokeToken({ params: { id } })
  },
  view: (_, { paint }, { token }) => `${paint.green('Revoked')} ${token}.`,
})
