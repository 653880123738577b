import { type Latencies, realistic } from '../agent/simulated/index.ts'
import type { ProbeRule } from '../core/boxes/index.ts'
import { dumpMsOf, type Expectation } from '../core/rollouts/index.ts'

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
