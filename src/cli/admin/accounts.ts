import { type Account, accountStatus, secondFactorOf } from '../../core/admin/index.ts'
import { problem } from '../../core/kit/index.ts'
import {
  ago,
  assertConfirmed,
  type Column,
  clean,
  command,
  fields,
  oneOf,
  required,
  type Style,
  sections,
  stamp,
  table,
} from '../kit/index.ts'

export const listAccounts = command('list', 'List accounts', {
  run: ({ api }) => api.admin.listAccounts(),
  view: accountList,
})

export const createAccount = command('create <name>', 'Create an account with a one-time password', {
  options: { role: required(oneOf('--role <role>', 'role of the account', ['viewer', 'reviewer', 'operator', 'admin'])) },
  run: ({ api }, { name, role }) => api.admin.createAccount({ body: { name, role } }),
  view: ({ account, initialPassword, expiresAt }, style) =>
    sections(
      accountView(account, style),
      `Initial password, valid for one login until ${stamp(expiresAt, style.now)}: ${style.paint.bold(clean(initialPassword))}`,
      'Save it now, it is not shown again. The person logs in with: tenantry login',
    ),
})

export const disableAccount = command('disable <account>', 'Disable an account and end its sessions and API tokens', {
  run: async ({ api, ask }, { account: nameOrId }) => {
    const { id, name } = findByName((await api.admin.listAccounts()).accounts, nameOrId, 'account')
    await assertConfirmed(ask, `Disable ${name}? Its sessions and API tokens end.`)
    return api.admin.disableAccount({ params: { id } })
  },
  view: accountView,
})

export const changeRole = command('role <account>', 'Change the role of an account and of its open sessions', {
  options: { role: required(oneOf('--role <role>', 'new role', ['viewer', 'reviewer', 'operator', 'admin'])) },
  run: async ({ api }, { account: nameOrId, role }) => {
    const { id } = findByName((await api.admin.listAccounts()).accounts, nameOrId, 'account')
    return api.admin.changeAccountRole({ params: { id }, body: { role } })
  },
  view: accountView,
})

const columns = ({ now }: Style): Column<Account>[] => [
  { title: 'ACCOUNT', value: ({ name }) => name, priority: 1, minWidth: 12 },
  { title: 'ROLE', value: ({ role }) => role, priority: 1 },
  {
    title: 'STATUS',
    value: (account) => accountStatus(account, now),
    priority: 1,
    paint: (account) => (accountStatus(account, now) === 'active' ? 'green' : 'yellow'),
  },
  { title: 'TOTP', value: secondFactorOf, priority: 3 },
  { title: 'LAST LOGIN', value: ({ lastLoginAt }) => ago(lastLoginAt, now), priority: 2 },
  { title: 'CREATED BY', value: ({ createdBy }) => createdBy, priority: 4, minWidth: 8 },
  { title: 'ID', value: ({ id }) => id, priority: 5 },
]

function accountList({ accounts }: { accounts: readonly Account[] }, style: Style): string {
  return table(style, columns(style), accounts)
}

function accountView(account: Account, style: Style): string {
  return fields(style, [
    ['account', style.paint.bold(clean(account.name))],
    ['role', account.role],
    ['status', accountStatus(account, style.now)],
    ['one-time codes', secondFactorOf(account)],
    ['last login', stamp(account.lastLoginAt, style.now) ?? 'never'],
    ['created', `${stamp(account.createdAt, style.now)} by ${clean(account.createdBy)}`],
    ['id', account.id, 'detail'],
  ])
}

type Named = Readonly<{ id: string; name: string }>

/** Finds an account or token by name or id. Throws NOT_FOUND. */
export function findByName<Thing extends Named>(things: readonly Thing[], nameOrId: string, kind: 'account' | 'token'): Thing {
  const found = things.find(({ id, name }) => id === nameOrId || name === nameOrId.toLowerCase())
  if (!found) throw problem('NOT_FOUND', `${kind} ${nameOrId} does not exist`)
  return found
}
