import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededRandom } from '../agent/simulated/index.ts'
import type { Actor } from '../core/kit/index.ts'
import { gatesMs, Phase, type Rehearsal, type RehearsalInput, type RehearsalSettings } from '../core/rollouts/index.ts'
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
import { nextChangeMs } from './commands.ts'
import { assertKnownNames, type FleetCopy, fleetDatabase, withoutGates } from './fleet-copy.ts'
import { play } from './play.ts'
import { openSimulation } from './simulation.ts'
import { type Played, summarize } from './summary.ts'

type Input = RehearsalInput &
  Readonly<{
    fleet: FleetCopy
    signal: AbortSignal
    /** Folder for the files of simulated boxes; a RAM disk is much faster. */
    scratch?: string
  }>

const actor: Actor = { kind: 'system', name: 'rehearsal' }

/** A rehearsal with more pauses stops. */
const maxPauses = 100

/** Simulates the rollout once per run. Throws the errors of creating a rollout, VALIDATION for faults of unknown boxes or hosts, and the signal's reason. */
export async function rehearse(input: Input): Promise<Rehearsal> {
  assertKnownNames(input.fleet, input.request.faults)
  const runs: Played[] = []
  for (let run = 0; run < input.request.runs; run++)
    runs.push(await playOnce(input, run === 0 ? `${input.request.seed}` : `${input.request.seed}/${run}`))
  return summarize({ request: input.request, startIso: input.startIso, settings: input.settings }, runs)
}

async function playOnce({ fleet: whole, settings, request, startIso, signal, scratch = tmpdir() }: Input, seed: string): Promise<Played> {
  const { fleet, gates } = withoutGates(whole)
  const { db, close } = await fleetDatabase(fleet)
  const folder = await mkdtemp(join(scratch, 'tenantry-rehearsal-'))
  try {
    const clock = virtualClock(startIso)
    // The same rollout id in every run, because it decides which boxes go first.
    const deps = depsOf(settings, { db, clock, random: seededRandom(`${request.seed}/rollout`) })
    const { targetSlugs, allowLongFence, ignoreWindows, fenceMode, snapshotMode, failureThreshold, parallel } = request
    const bakeMs = gates.length > 0 ? (request.bakeMs ?? 0) + gatesMs(gates) : request.bakeMs
    const options = { allowLongFence, ignoreWindows, fenceMode, snapshotMode, failureThreshold, parallel, bakeMs, skipRefused: true }
    const { id, plan } = await createRollout(deps, actor, { ...options, ...(targetSlugs ? { targetSlugs } : {}) })
    await startRollout(deps, actor, { id })
    const simulation = await openSimulation({ db, clock, seed, folder, settings, faults: request.faults, plan })
    const pauses: Played['pauses'][number][] = []
    const shouldContinue = async () => {
      const { status, previousStatus, pauseReason } = await rolloutById(db, id)
      if (status !== 'paused' || pauses.length >= maxPauses) return false
      pauses.push({
        atMs: clock.monotonicMs(),
        phase: Phase.options.find((phase) => phase === previousStatus) ?? null,
        reason: pauseReason ?? '',
      })
      await resumeRollout(deps, actor, { id, skipFailed: true })
      return true
    }
    const engine = makeRolloutEngine(deps)
    await play({ db, clock, engine, signal, perform: simulation.perform, nextChangeMs: () => nextChangeMs(db, clock, id), shouldContinue })
    return { rollout: await showRollout(deps, id), gates, pauses, endMs: clock.monotonicMs(), startIso }
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
  owner: 'rehearsal',
  copyBytesPerSecond: 64_000_000,
  assertSnapshotsConfigured: () => undefined,
  approvalTokenSha256: undefined,
  hasRecoveryKey: true,
})
