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
export { type AccountStatus, accountStatus, accountStatuses } from './account-status.ts'
export { backgroundHeader, consoleHeader, consoleIdleMs } from './console-session.ts'
export { adminContract } from './contract.ts'
export { failureMemoryMs, knownNetworkMs, lockMs, maxFailures, networkOf, proofMs, requiresTotp, setupSteps } from './rules.ts'
