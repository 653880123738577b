import { existsSync } from 'node:fs'
import { isoNow } from '../../src/core/kit/index.ts'
import { type Rehearsal, RehearsalRequest, type RehearsalSettings } from '../../src/core/rollouts/index.ts'
import { readFleet, rehearse } from '../../src/rehearsal/index.ts'
import { emptyDatabase } from '../support/databases.ts'
import { type BoxSpec, rolloutWorld } from '../support/rollout-world.ts'

const scratch = existsSync('/dev/shm') ? '/dev/shm' : undefined

/** Rehearsals of a fleet that is behind its manifest. */
export async function aFleet(boxes: readonly BoxSpec[], change: Partial<RehearsalSettings> = {}) {
  const { db } = await emptyDatabase('sqlite')
  const world = await rolloutWorld(db, boxes)
  const settings: RehearsalSettings = { ...world.deps, rollouts: world.deps.settings, ...change }
  const fleet = await readFleet(db)
  const play = (wanted: object = {}, signal = new AbortController().signal) =>
    playedBy({ settings, fleet, startIso: isoNow(world.clock) }, wanted, signal)
  return { db, world, settings, fleet, play }
}

type Played = Readonly<{ settings: RehearsalSettings; fleet: Awaited<ReturnType<typeof readFleet>>; startIso: string }>

export const playedBy = (given: Played, wanted: object = {}, signal = new AbortController().signal): Promise<Rehearsal> =>
  rehearse({ ...given, request: RehearsalRequest.parse(wanted), signal, ...(scratch ? { scratch } : {}) })
