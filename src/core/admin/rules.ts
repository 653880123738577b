import { type AdminRole, roleAtLeast } from '../contract/index.ts'
import { addressBytes } from '../kit/index.ts'
import type { SetupStep } from './account.ts'

/** Ten failures, none more than 15 minutes after the one before, lock for a fixed 15 minutes (service specification, section 8). */
export const maxFailures = 10
export const failureMemoryMs = 15 * 60_000
export const lockMs = 15 * 60_000
/** Networks with a successful login within this time are counted separately, so that strangers cannot lock the owner out. */
export const knownNetworkMs = 30 * 24 * 60 * 60_000

/** The network of an address: /24 of IPv4, /56 of IPv6; any other text is returned as it is. */
export function networkOf(address: string): string {
  const bytes = addressBytes(address)
  if (!bytes) return address
  if (bytes.length === 4) return `${bytes.slice(0, 3).join('.')}.0/24`
  const group = (at: number) => (((bytes[at] ?? 0) << 8) | (at === 6 ? 0 : (bytes[at + 1] ?? 0))).toString(16)
  return `${[0, 2, 4, 6].map(group).join(':')}::/56`
}

/** `byProvider`: the account logs in at the provider, which has its password and second factor. */
type AccountState = Readonly<{ role: AdminRole; hasInitialPassword: boolean; hasTotp: boolean; byProvider: boolean }>

/** True if logins of the role need TOTP under the settings. */
export const requiresTotp = (role: AdminRole, totpRequired: boolean): boolean => totpRequired && roleAtLeast(role, 'operator')

/** Setup steps that a session must complete first, in order. */
export function setupSteps({ role, hasInitialPassword, hasTotp, byProvider }: AccountState, totpRequired: boolean): SetupStep[] {
  if (byProvider) return []
  return [
    ...(hasInitialPassword ? (['password'] as const) : []),
    ...(!hasTotp && requiresTotp(role, totpRequired) ? (['totp'] as const) : []),
  ]
}

/** How long a session may create credentials after it gave password and code. */
export const proofMs = 10 * 60_000
