import { sha256Hex } from '../../core/kit/index.ts'
import type { RestoreRun } from './restore-run.ts'

// Volumes are named after the attempt and the try: one that a kill left half-filled is never filled further.

const plain = (volume: string): string => volume.replace(/-r[0-9a-f]{8}-[0-9]+$/, '')

const triesOf = (run: RestoreRun, step: 'fetch' | 'load'): number =>
  run.entries().filter((entry) => entry.step === step && entry.mark === 'intent').length

function namesOf(run: RestoreRun, volume: string, tries: number): string[] {
  const attempt = sha256Hex(run.context.commandId).slice(0, 8)
  return Array.from({ length: tries }, (_, index) => `${plain(volume)}-r${attempt}-${index + 1}`)
}

/** Of all tries to bring media and objects, the present one last. */
export const dataVolumes = (run: RestoreRun, former: string): string[] => namesOf(run, former, triesOf(run, 'fetch'))

/** Of all tries to load the database, the present one last. */
export const databaseVolumes = (run: RestoreRun, former: string): string[] => namesOf(run, former, triesOf(run, 'load'))
