import type { Account } from './account.ts'

export const accountStatuses = ['active', 'not set up', 'locked', 'disabled'] as const
export type AccountStatus = (typeof accountStatuses)[number]

/** The state of an account in one word, in every view. */
export function accountStatus({ status, lockedUntil, mustChangePassword }: Account, now: Date): AccountStatus {
  if (status === 'disabled') return 'disabled'
  if (lockedUntil && Date.parse(lockedUntil) > now.getTime()) return 'locked'
  return mustChangePassword ? 'not set up' : 'active'
}

/** The second factor of an account in words, in every view: one of the provider is checked there. */
export const secondFactorOf = ({ login, totp }: Account): string => (login === 'provider' ? 'at provider' : totp ? 'on' : 'off')
