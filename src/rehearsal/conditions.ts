import { type Fault, type Latencies, realistic, seededRandom } from '../agent/simulated/index.ts'
import type { ProbeRule } from '../core/boxes/index.ts'
import { dumpMsOf, type Expectation, type RehearsedFaults } from '../core/rollouts/index.ts'

type Measured = Readonly<{ expectation: Expectation; databaseBytes: number | null; hasHistory: boolean; imageIsHere: boolean }>

/** An image that another box of the host has brought is only looked for. */
const lookMs = [200, 1_500] as const

/**
 * How long things take in a box: as its own past or that of its tier says, else as on small boxes that were measured, longer by what its
 * database weighs. What is known is how long an update takes and how long its fence stands; all parts of each are stretched alike.
 */
export function latenciesOf(probe: ProbeRule, { expectation, databaseBytes, hasHistory, imageIsHere }: Measured): Latencies {
  const { latencies } = realistic
  const provenMs = (probe.consecutive - 1) * probe.spacingMs
  const fenced = hasHistory ? stretch(expectation.expectedFenceMs - provenMs, fencedParts) : 1
  const before = hasHistory ? stretch(expectation.expectedMs - expectation.expectedFenceMs, openParts) : 1
  const heavier = hasHistory ? 0 : dumpMsOf(databaseBytes)
  const scaled = (what: keyof Latencies, by: number, more = 0) => latencies[what].map((ms) => ms * by + more) as [number, number]
  return {
    ...latencies,
    pullMs: imageIsHere ? lookMs : scaled('pullMs', before),
    stopMs: scaled('stopMs', fenced),
    upMs: scaled('upMs', fenced),
    synapseStartMs: scaled('synapseStartMs', fenced),
    postgresStartMs: scaled('postgresStartMs', fenced),
    minioStartMs: scaled('minioStartMs', fenced),
    dumpMs: scaled('dumpMs', fenced, heavier),
    loadMs: scaled('loadMs', fenced, heavier),
    snapshotMs: scaled('snapshotMs', (fenced + before) / 2),
  }
}

const fencedParts: readonly (keyof Latencies)[] = ['stopMs', 'dumpMs', 'snapshotMs', 'upMs', 'synapseStartMs', 'schemaUpgradeMs']
const openParts: readonly (keyof Latencies)[] = ['pullMs', 'snapshotMs']

const middle = (what: keyof Latencies): number => (realistic.latencies[what][0] + realistic.latencies[what][1]) / 2

function stretch(knownMs: number, parts: readonly (keyof Latencies)[]): number {
  const usualMs = parts.reduce((sum, what) => sum + middle(what), 0)
  return Math.min(50, Math.max(0.05, knownMs / usualMs))
}

type Target = Readonly<{ slug: string; image: string | undefined; isSynapse: boolean }>

const slowMs = [10 * 60_000, 20 * 60_000] as const

/** True in so many of all cases; what is asked about draws for itself, so that the order of questions changes nothing. */
function strikes(seed: string, what: string, name: string, rate: number): boolean {
  if (rate === 0) return false
  return Buffer.from(seededRandom(`${seed}/${what}/${name}`).bytes(4)).readUInt32BE() / 2 ** 32 < rate
}

/** What goes wrong with one box. Its former images are spared: what fails is the new one. */
export function faultsOf(seed: string, wanted: RehearsedFaults, { slug, image, isSynapse }: Target): Fault[] {
  const where = image === undefined ? {} : { image }
  const failing = wanted.failProbes.includes(slug) || strikes(seed, 'probe', slug, wanted.probeFailRate)
  const broken = wanted.failPulls.includes(slug) || strikes(seed, 'pull', slug, wanted.pullFailRate)
  const sick: Fault = isSynapse ? { kind: 'probe-fails', components: ['chatSync'], ...where } : { kind: 'dies-at-start', ...where }
  return [
    ...(failing ? [sick] : []),
    ...(broken ? [{ kind: 'pull-fails', ...where } as const] : []),
    ...(strikes(seed, 'slow', slug, wanted.slowPullRate) ? [{ kind: 'slow-pull', extraMs: slowMs, times: 1, ...where } as const] : []),
  ]
}

/** A host that is gone answers nothing from its first command on. */
export const isOffline = (seed: string, { offlineHosts, offlineRate }: RehearsedFaults, host: string): boolean =>
  offlineHosts.includes(host) || strikes(seed, 'offline', host, offlineRate)
