import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededRandom } from '../agent/simulated/index.ts'
import type { Actor } from '../core/kit/index.ts'
import { Phase, type Rehearsal, type RehearsalInput, type RehearsalSettings } from '../core/rollouts/index.ts'
import { makeCommandBus } from '../daemon/hosts/index.ts'
import {
  createRollout,
  makeRolloutBus,
  makeRolloutEngine,
  type RolloutsDeps,
  resumeRollout,
  rolloutById,
  showRollout,
  startRollout,
} from '../daemon/rollouts/index.ts'
import { silentLogger, type VirtualClock, virtualClock } from '../node/index.ts'
import { nextOpeningMs } from './commands.ts'
import { assertKnownNames, type FleetCopy, fleetDatabase } from './fleet-copy.ts'

import { play } from './play.ts'
import { openSimulation } from './simulation.ts'
import { type Played, summarize } from './summary.ts'

type Input = RehearsalInput &
  Readonly<{
    fleet: FleetCopy
    signal: AbortSignal
    /** Files of simulated boxes lie below it while their turn lasts; a disk in memory is much faster. */
    scratch?: string
  }>

const actor: Actor = { kind: 'system', name: 'rehearsal' }

/** So many pauses tell enough; whoever has more should look at the first. */
const mostPauses = 100

/** Plays the rollout through, once per run, and says what would happen. Throws what making the rollout throws, VALIDATION for faults of boxes or hosts that do not exist, and the signal's reason. */
export async function rehearse(given: Input): Promise<Rehearsal> {
  assertKnownNames(given.fleet, given.wanted.faults)
  const played: Played[] = []
  for (let run = 0; run < given.wanted.runs; run++)
    played.push(await playOnce(given, run === 0 ? `${given.wanted.seed}` : `${given.wanted.seed}/${run}`))
  return summarize(given.wanted, given.startIso, given.settings, played)
}

async function playOnce({ fleet, settings, wanted, startIso, signal, scratch = tmpdir() }: Input, seed: string): Promise<Played> {
  const { db, close } = await fleetDatabase(fleet)
  const folder = await mkdtemp(join(scratch, 'tenantry-rehearsal-'))
  try {
    const clock = virtualClock(startIso)
    // The rollout bears the same name in every run: the draw of early boxes belongs to it.
    const deps = depsOf(settings, { db, clock, random: seededRandom(`${wanted.seed}/rollout`) })
    const { targetSlugs, allowLongFence, ignoreWindows, fenceMode, failureThreshold } = wanted
    const asked = { allowLongFence, ignoreWindows, fenceMode, failureThreshold, skipRefused: true }
    const { id, plan } = await createRollout(deps, actor, { ...asked, ...(targetSlugs ? { targetSlugs } : {}) })
    await startRollout(deps, actor, { id })
    const stage = await openSimulation({ db, clock, seed, folder, settings, faults: wanted.faults, plan })
    const pauses: Played['pauses'][number][] = []
    const goOn = async () => {
      const { status, previousStatus, pauseReason } = await rolloutById(db, id)
      if (status !== 'paused' || pauses.length >= mostPauses) return false
      pauses.push({
        atMs: clock.monotonicMs(),
        phase: Phase.options.find((phase) => phase === previousStatus) ?? null,
        reason: pauseReason ?? '',
      })
      await resumeRollout(deps, actor, { id, skipFailed: true })
      return true
    }
    const engine = makeRolloutEngine(deps)
    await play({ db, clock, engine, signal, perform: stage.perform, nextChangeMs: () => nextOpeningMs(db, clock, id), goOn })
    return { rollout: await showRollout(deps, id), pauses, endMs: clock.monotonicMs(), startIso }
  } finally {
    await close()
    await rm(folder, { recursive: true, force: true })
  }
}

type World = Readonly<{ db: RolloutsDeps['db']; clock: VirtualClock; random: RolloutsDeps['random'] }>

const depsOf = ({ rollouts, ...settings }: RehearsalSettings, world: World): RolloutsDeps => ({
  ...settings,
  ...world,
  settings: rollouts,
  log: silentLogger(),
  bus: makeCommandBus(),
  rolloutBus: makeRolloutBus(),
  holder: 'rehearsal',
  assertSnapshotsConfigured: () => undefined,
  approvalTokenSha256: undefined,
})
