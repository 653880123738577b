import type { RunFailure } from '../boards/index.ts'
import type { PlatformPrincipal } from '../kit/index.ts'

/** Users and roles with a part in a run: who started it, who acted in it, and the roles of the elements that it reached. */
export type Readers = Readonly<{ users: readonly string[]; roles: readonly string[] }>

type Caller = Pick<PlatformPrincipal, 'userId' | 'roles' | 'capabilities'>

/** True for users with a part in the run. */
export const hasPart = ({ users, roles }: Readers, caller: Caller): boolean =>
  users.includes(caller.userId) || roles.some((role) => caller.roles.includes(role))

/** True for users who read the runs of every space that they find: a private one is found by its members alone. */
export const readsRuns = ({ capabilities }: Pick<Caller, 'capabilities'>): boolean => capabilities.includes('manageRuns')

/** True if one of the roles is the caller's. Capabilities grant nothing here: only the role of an element decides it. */
export const mayActOn = (roles: readonly (string | null)[], caller: Caller): boolean =>
  roles.some((role) => role !== null && caller.roles.includes(role))

/** A retry walks on with a new limit of steps. Every other failure has the same cause again. */
export const retryableCodes: readonly RunFailure['code'][] = ['TOO_MANY_STEPS']

/** Whether a retry may continue a run that failed so. */
export const canRetry = ({ code }: Pick<RunFailure, 'code'>): boolean => retryableCodes.includes(code)

/** The readers with more of them; the same object if there are none. */
export function withReaders(readers: Readers, more: Readers): Readers {
  const users = more.users.filter((id) => !readers.users.includes(id))
  const roles = more.roles.filter((role) => !readers.roles.includes(role))
  if (users.length === 0 && roles.length === 0) return readers
  return { users: [...new Set([...readers.users, ...users])], roles: [...new Set([...readers.roles, ...roles])] }
}
