import type { Phase, RolloutKind, RolloutState, RolloutStatus } from './rollout.ts'

// Without a schema: the web console loads these alone.

/** Phases of each kind in their order (spec 3.7). An emergency begins with the tiers that have a service level. */
export const phaseOrder = {
  staged: ['canary', 'free_5', 'free_100', 'pro', 'enterprise'],
  emergency_cve: ['pro', 'enterprise', 'free_100'],
} as const satisfies Record<RolloutKind, readonly Phase[]>

export const isOver = (status: RolloutStatus): boolean => status === 'done' || status === 'failed' || status === 'rolled_back'

/** The phase of a running rollout; undefined otherwise. */
export function phaseOf({ kind, status }: Pick<RolloutState, 'kind' | 'status'>): Phase | undefined {
  const phases: readonly Phase[] = phaseOrder[kind]
  return phases.find((phase) => phase === status)
}
