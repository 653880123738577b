// Sessions of tenants' users on the wire and their rules: what a login asks and answers, when an account locks, how long a session lives,
// when a failed login is answered. It holds no password, no clock and no hash.
export { holdBackMs } from './answer-time.ts'
export { type EndedBy, type Session, sessionsContract } from './contract.ts'
export { credentialForm } from './credential.ts'
export { defaultDeviceName, deviceNameOf } from './device-name.ts'
export { refreshEnd, type SessionRules, sessionEnd, tokenLifetimeMs, tokenMs } from './lifetimes.ts'
export { failureMemoryMs, knownNetworkMs, lockSubject, maxFailures, networkOf, pendingMs } from './lock.ts'
