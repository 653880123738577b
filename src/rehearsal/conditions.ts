import { type Fault, type Latencies, realistic, seededRandom } from '../agent/simulated/index.ts'
import type { FenceMode } from '../core/boxes/index.ts'
import { dumpMsOf, type Expectation, proofMs, type RehearsalSettings, type RehearsedFaults } from '../core/rollouts/index.ts'

type Measured = Readonly<{
  expectation: Expectation
  fenceMode: FenceMode
  databaseBytes: number | null
  hasHistory: boolean
  imageIsHere: boolean
}>

type Settings = Pick<RehearsalSettings, 'probe' | 'rollouts'>

/** The realistic latencies are of updates whose parts take about as long. */
const realisticUpdateMs = 60_000

/** The pull of an image that is already on the host. */
const cachedPullMs = [200, 1_500] as const

/**
 * Latencies of a box, scaled to its own history or that of its tier; without history as measured on small boxes, plus time for the size of its
 * database. History knows the whole duration and the downtime only, so all parts of each are scaled by one factor.
 */
export function latenciesOf(
  { probe, rollouts }: Settings,
  { expectation, fenceMode, databaseBytes, hasHistory, imageIsHere }: Measured,
): Latencies {
  const { latencies } = realistic
  const provenMs = proofMs(probe, fenceMode)
  const assumed = (rollouts.assumedUpdateMs ?? realisticUpdateMs) / realisticUpdateMs
  const fenced = hasHistory ? stretch(expectation.expectedFenceMs - provenMs, fencedParts) : assumed
  const before = hasHistory ? stretch(expectation.expectedMs - expectation.expectedFenceMs, openParts) : assumed
  const dumpExtraMs = hasHistory ? 0 : dumpMsOf(databaseBytes)
  const scaled = (what: keyof Latencies, by: number, more = 0) => latencies[what].map((ms) => ms * by + more) as [number, number]
  return {
    ...latencies,
    pullMs: imageIsHere ? cachedPullMs : scaled('pullMs', before),
    stopMs: scaled('stopMs', fenced),
    upMs: scaled('upMs', fenced),
    synapseStartMs: scaled('synapseStartMs', fenced),
    postgresStartMs: scaled('postgresStartMs', fenced),
    minioStartMs: scaled('minioStartMs', fenced),
    dumpMs: scaled('dumpMs', fenced, dumpExtraMs),
    loadMs: scaled('loadMs', fenced, dumpExtraMs),
    snapshotMs: scaled('snapshotMs', (fenced + before) / 2),
    schemaUpgradeMs: scaled('schemaUpgradeMs', fenced),
  }
}

const fencedParts: readonly (keyof Latencies)[] = ['stopMs', 'dumpMs', 'snapshotMs', 'upMs', 'synapseStartMs', 'schemaUpgradeMs']
const openParts: readonly (keyof Latencies)[] = ['pullMs', 'snapshotMs']

const meanMs = (what: keyof Latencies): number => (realistic.latencies[what][0] + realistic.latencies[what][1]) / 2

function stretch(knownMs: number, parts: readonly (keyof Latencies)[]): number {
  const usualMs = parts.reduce((sum, what) => sum + meanMs(what), 0)
  return Math.min(50, Math.max(0.05, knownMs / usualMs))
}

type Target = Readonly<{ slug: string; image: string | undefined; isSynapse: boolean }>

const slowMs = [10 * 60_000, 20 * 60_000] as const

/** True with probability `rate`. Each subject has its own random stream, so that the order of calls changes nothing. */
function strikes({ seed, what, name }: Readonly<{ seed: string; what: string; name: string }>, rate: number): boolean {
  if (rate === 0) return false
  return Buffer.from(seededRandom(`${seed}/${what}/${name}`).bytes(4)).readUInt32BE() / 2 ** 32 < rate
}

/** The faults of one box. They apply to the new image only, so that a rollback succeeds. */
export function faultsOf(seed: string, faults: RehearsedFaults, { slug, image, isSynapse }: Target): Fault[] {
  const where = image === undefined ? {} : { image }
  const probeFails = faults.failProbes.includes(slug) || strikes({ seed, what: 'probe', name: slug }, faults.probeFailRate)
  const pullFails = faults.failPulls.includes(slug) || strikes({ seed, what: 'pull', name: slug }, faults.pullFailRate)
  const probeFault: Fault = isSynapse ? { kind: 'probe-fails', components: ['chatSync'], ...where } : { kind: 'dies-at-start', ...where }
  return [
    ...(probeFails ? [probeFault] : []),
    ...(pullFails ? [{ kind: 'pull-fails', ...where } as const] : []),
    ...(strikes({ seed, what: 'slow', name: slug }, faults.slowPullRate)
      ? [{ kind: 'slow-pull', extraMs: slowMs, times: 1, ...where } as const]
      : []),
  ]
}

/** An offline host answers no command. */
export const isOffline = (seed: string, { offlineHosts, offlineRate }: RehearsedFaults, host: string): boolean =>
  offlineHosts.includes(host) || strikes({ seed, what: 'offline', name: host }, offlineRate)
