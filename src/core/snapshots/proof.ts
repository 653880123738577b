import type { Snapshot } from './contract.ts'

/** True if the last drill failed after the last proof. */
export const hasFailedSinceProof = ({ lastDrill, lastProof }: Snapshot): boolean =>
  lastDrill?.ok === false && lastDrill.at > (lastProof?.at ?? '')

/** True where nothing is left to restore. */
export const isGone = ({ status }: Pick<Snapshot, 'status'>): boolean => status === 'forgotten' || status === 'missing'
