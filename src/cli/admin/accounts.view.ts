import type { Account } from '../../core/admin/index.ts'
import { ago, type Column, clean, fields, type Look, stamp, table } from '../kit/index.ts'

const state = ({ status, lockedUntil, mustChangePassword }: Account, now: Date): string =>
  status === 'disabled'
    ? 'disabled'
    : lockedUntil && Date.parse(lockedUntil) > now.getTime()
      ? 'locked'
      : mustChangePassword
        ? 'not set up'
        : 'active'

const columns = ({ now }: Look): Column<Account>[] => [
  { title: 'ACCOUNT', value: ({ name }) => name, priority: 1, least: 12 },
  { title: 'ROLE', value: ({ role }) => role, priority: 1 },
  {
    title: 'STATE',
    value: (account) => state(account, now),
    priority: 1,
    paint: (account) => (state(account, now) === 'active' ? 'green' : 'yellow'),
  },
  { title: 'CODES', value: ({ totp }) => (totp ? 'on' : 'off'), priority: 3 },
  { title: 'LAST LOGIN', value: ({ lastLoginAt }) => ago(lastLoginAt, now), priority: 2 },
  { title: 'CREATED BY', value: ({ createdBy }) => createdBy, priority: 4, least: 8 },
  { title: 'ID', value: ({ id }) => id, priority: 5 },
]

export const accountList = ({ accounts }: { accounts: readonly Account[] }, look: Look): string => table(look, columns(look), accounts)

export const accountView = (account: Account, look: Look): string =>
  fields(look, [
    ['account', look.paint.bold(clean(account.name))],
    ['role', account.role],
    ['state', state(account, look.now)],
    ['one-time codes', account.totp ? 'on' : 'off'],
    ['last login', stamp(account.lastLoginAt, look.now) ?? 'never'],
    ['created', `${stamp(account.createdAt, look.now)} by ${clean(account.createdBy)}`],
    ['id', account.id],
  ])
