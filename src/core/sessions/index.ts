// Sessions of tenants' users on the wire and their rules: what a login asks and answers, when an account locks, how long a session lives,
// when a failed login is answered. It holds no password, no clock and no hash.
export type { PlatformPrincipal } from './principal.ts'
