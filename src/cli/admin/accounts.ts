import type { Account } from '../../core/admin/index.ts'
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

export const listAccounts = command('list', 'All accounts with role and state', {}, ({ api }) => api.admin.listAccounts(), accountList)

export const createAccount = command(
  'create <name>',
  'A new account; its password works once and is shown once',
  { role: required(oneOf('--role <role>', 'what it may do', ['viewer', 'reviewer', 'operator', 'admin'])) },
  ({ api }, { name, role }) => api.admin.createAccount({ body: { name, role } }),
  ({ account, initialPassword, expiresAt }, style) =>
    sections(
      accountView(account, style),
      `Password for the first login, until ${stamp(expiresAt, style.now)}: ${style.paint.bold(clean(initialPassword))}`,
      'It is shown only now. The person logs in with: tenantry login',
    ),
)

export const disableAccount = command(
  'disable <account>',
  'Shut an account out: its sessions and API tokens end within a second',
  {},
  async ({ api, ask }, { account: given }) => {
    const { id, name } = findByName((await api.admin.listAccounts()).accounts, given, 'accounts')
    await assertConfirmed(ask, `Shut out ${name}? Its API tokens end too.`)
    return api.admin.disableAccount({ params: { id } })
  },
  accountView,
)

export const changeRole = command(
  'role <account>',
  'Give an account another role, also in its open sessions',
  { role: required(oneOf('--role <role>', 'what it may do from now on', ['viewer', 'reviewer', 'operator', 'admin'])) },
  async ({ api }, { account: given, role }) => {
    const { id } = findByName((await api.admin.listAccounts()).accounts, given, 'accounts')
    return api.admin.changeAccountRole({ params: { id }, body: { role } })
  },
  accountView,
)

const state = ({ status, lockedUntil, mustChangePassword }: Account, now: Date): string =>
  status === 'disabled'
    ? 'disabled'
    : lockedUntil && Date.parse(lockedUntil) > now.getTime()
      ? 'locked'
      : mustChangePassword
        ? 'not set up'
        : 'active'

const columns = ({ now }: Style): Column<Account>[] => [
  { title: 'ACCOUNT', value: ({ name }) => name, priority: 1, minWidth: 12 },
  { title: 'ROLE', value: ({ role }) => role, priority: 1 },
  {
    title: 'STATE',
    value: (account) => state(account, now),
    priority: 1,
    paint: (account) => (state(account, now) === 'active' ? 'green' : 'yellow'),
  },
  { title: 'CODES', value: ({ totp }) => (totp ? 'on' : 'off'), priority: 3 },
  { title: 'LAST LOGIN', value: ({ lastLoginAt }) => ago(lastLoginAt, now), priority: 2 },
  { title: 'CREATED BY', value: ({ createdBy }) => createdBy, priority: 4, minWidth: 8 },
  { title: 'ID', value: ({ id }) => id, priority: 5 },
]

const accountList = ({ accounts }: { accounts: readonly Account[] }, style: Style): string => table(style, columns(style), accounts)

const accountView = (account: Account, style: Style): string =>
  fields(style, [
    ['account', style.paint.bold(clean(account.name))],
    ['role', account.role],
    ['state', state(account, style.now)],
    ['one-time codes', account.totp ? 'on' : 'off'],
    ['last login', stamp(account.lastLoginAt, style.now) ?? 'never'],
    ['created', `${stamp(account.createdAt, style.now)} by ${clean(account.createdBy)}`],
    ['id', account.id],
  ])

type Named = Readonly<{ id: string; name: string }>

/** People type names, the API takes ids; either is understood. `noun` is where they are listed. */
export function findByName<Thing extends Named>(things: readonly Thing[], given: string, noun: 'accounts' | 'tokens'): Thing {
  const found = things.find(({ id, name }) => id === given || name === given.toLowerCase())
  if (!found) throw problem('NOT_FOUND', `${given} is none of the ${noun}`)
  return found
}
