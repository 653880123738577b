// Admin accounts: the contract, and the rules for names, roles, account locks and setup steps.
// It contains no password, no clock and no hash.

export {
  Account,
  AccountName,
  AdminRoleName,
  type ApiToken,
  NewPassword,
  type SetupStep,
} from './account.ts'
export { type AccountStatus, accountStatus, accountStatuses, secondFactorOf } from './account-status.ts'
export { backgroundHeader, consoleHeader, consoleIdleMs } from './console-session.ts'
export { adminContract } from './contract.ts'
export type { Passkey, PasskeyAssertion, PasskeyAttestation, PasskeyCreation, PasskeyRequest } from './passkey-contract.ts'
export { maxPasskeys, passkeyCreation, passkeyMs, passkeyRequest, type RelyingParty, relyingPartyOf } from './passkeys.ts'
export type { CliLogin } from './provider-contract.ts'
export {
  type ProviderClaims,
  provenAtMs,
  providerLoginMs,
  type RoleGroups,
  roleOfGroups,
  type SecondFactorValues,
  textsOf,
  usedSecondFactor,
} from './provider-login.ts'
export { failureMemoryMs, knownNetworkMs, lockMs, maxFailures, networkOf, proofMs, requiresTotp, setupSteps } from './rules.ts'
