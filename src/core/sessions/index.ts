// Sessions of tenants' users: the API of login and sessions, and its rules.
// Decides the lifetimes of sessions and tokens, when an account locks, and when a refused login is answered.
// Stores nothing, reads no clock, and sees no password.

export { type EndedBy, type Session, sessionsContract } from './contract.ts'
export {
  credentialForm,
  defaultDeviceName,
  delayRefusal,
  deviceNameOf,
  failureMemoryMs,
  knownNetworkMs,
  lockSubject,
  maxFailures,
  maxPendingMs,
  networkOf,
  refreshEnd,
  type SessionRules,
  type SlowRefusal,
  sessionEnd,
  tokenLifetimeMs,
  tokenMs,
} from './rules.ts'
