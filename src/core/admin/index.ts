// Admin accounts on the wire and their rules: names, roles, when an account locks, what a session must finish first.
// It holds no password, no clock and no hash.
export {
  Account,
  AccountName,
  AdminRoleName,
  type ApiToken,
  NewPassword,
  type SetupStep,
} from './account.ts'
export { adminContract } from './contract.ts'
export { failureMemoryMs, knownNetworkMs, lockMs, mostFailures, networkOf } from './lock.ts'
export { setupSteps, totpNeeded } from './setup.ts'
