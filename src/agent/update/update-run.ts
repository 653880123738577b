import type { BoxCommandPayload, UpdateStep } from '../../core/boxes/index.ts'
import { type Run, resultOf, volumeOfTry, volumesOfTries } from '../change/index.ts'
import type { Before, Evidence } from './evidence.ts'

/** One update in the hands of one agent. */
export type UpdateRun = Run<UpdateStep, BoxCommandPayload<'tenant-box.update'>, Evidence>

/** What the first step found and wrote down; every later one builds on it. */
export const beforeOf = (run: UpdateRun): Before => resultOf(run, 'prefetch')

/** Volumes of all tries to restore the database of this update; the last is the present try's. */
export const restoredVolumes = (run: UpdateRun): string[] => volumesOfTries(run, 'restore-data', beforeOf(run).database.volume)

/** The cold copy lies where the first try looks for its data: with it there is nothing to load. */
export const coldVolume = (run: UpdateRun): string => volumeOfTry(run, beforeOf(run).database.volume, 1)
