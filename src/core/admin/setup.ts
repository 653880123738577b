import { type AdminRole, roleAtLeast } from '../contract/index.ts'
import type { SetupStep } from './account.ts'

type Standing = Readonly<{ role: AdminRole; hasInitialPassword: boolean; hasTotp: boolean }>

/** Roles whose logins need a one-time code where the settings demand them. */
export const totpNeeded = (role: AdminRole, totpRequired: boolean): boolean => totpRequired && roleAtLeast(role, 'operator')

/** What a session of the account must finish before it may do anything else, in this order. */
export const setupSteps = ({ role, hasInitialPassword, hasTotp }: Standing, totpRequired: boolean): SetupStep[] => [
  ...(hasInitialPassword ? (['password'] as const) : []),
  ...(!hasTotp && totpNeeded(role, totpRequired) ? (['totp'] as const) : []),
]
