import type { StepFacts } from '../../core/boxes/index.ts'
import { sha256Hex } from '../../core/kit/index.ts'
import type { GuardedRun } from './guarded-run.ts'

// Volumes are named after the attempt and the try: one that a kill left half-filled is never filled further.

export const volumeOfTry = ({ context }: Pick<GuardedRun, 'context'>, former: string, number: number): string =>
  `${former.replace(/-r[0-9a-f]{8}-[0-9]+$/, '')}-r${sha256Hex(context.commandId).slice(0, 8)}-${number}`

/** What takes a volume's place, of all tries of a step; the present one's last. */
export function volumesOfTries<Step extends string>(
  run: Pick<GuardedRun, 'context'> & Readonly<{ facts(): StepFacts<Step> }>,
  step: Step,
  former: string,
): string[] {
  return Array.from({ length: run.facts().tries[step] ?? 0 }, (_, index) => volumeOfTry(run, former, index + 1))
}

/** A disk that half-filled tries have filled would fail every later one too. What does not go now goes at the end. */
export async function dropTries({ engine }: Pick<GuardedRun['deps'], 'engine'>, volumes: readonly string[]): Promise<void> {
  for (const volume of volumes) await engine.removeVolume(volume).catch(() => undefined)
}
