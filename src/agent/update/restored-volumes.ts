import { sha256Hex } from '../../core/kit/index.ts'
import { beforeOf, type UpdateRun } from './update-run.ts'

/** Volumes of all tries of a restore of this update, named after it; the last is the present try's. */
export function restoredVolumes(run: UpdateRun): string[] {
  const tries = run.entries().filter(({ step, mark }) => step === 'restore-data' && mark === 'intent').length
  return Array.from({ length: tries }, (_, index) => volumeOfTry(run, index + 1))
}

/** The cold copy lies where the first try looks for its data: with it there is nothing to load. */
export const coldVolume = (run: UpdateRun): string => volumeOfTry(run, 1)

function volumeOfTry(run: UpdateRun, number: number): string {
  const attempt = sha256Hex(run.context.commandId).slice(0, 8)
  return `${beforeOf(run).database.volume.replace(/-r[0-9a-f]{8}-[0-9]+$/, '')}-r${attempt}-${number}`
}
