import type { Account } from '../../core/admin/index.ts'
import { ago, type Column, clean, fields, type Style, stamp, table } from '../kit/index.ts'

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

export const accountList = ({ accounts }: { accounts: readonly Account[] }, style: Style): string => table(style, columns(style), accounts)

export const accountView = (account: Account, style: Style): string =>
  fields(style, [
    ['account', style.paint.bold(clean(account.name))],
    ['role', account.role],
    ['state', state(account, style.now)],
    ['one-time codes', account.totp ? 'on' : 'off'],
    ['last login', stamp(account.lastLoginAt, style.now) ?? 'never'],
    ['created', `${stamp(account.createdAt, style.now)} by ${clean(account.createdBy)}`],
    ['id', account.id],
  ])
