import type { ProbeComponent } from '../../core/boxes/index.ts'

/** From and to, in milliseconds; each use draws its own. */
export type Range = readonly [min: number, max: number]

/** How long things take on a simulated host. */
export type Latencies = Readonly<{
  pullMs: Range
  upMs: Range
  stopMs: Range
  /** From a container's start until it answers. */
  postgresStartMs: Range
  synapseStartMs: Range
  minioStartMs: Range
  /** How long Synapse changes an older database before it listens. */
  schemaUpgradeMs: Range
  probeMs: Range
  dumpMs: Range
  loadMs: Range
  snapshotMs: Range
}>

/** `times`: how often it strikes, for ever when absent. `chance`: from 0 to 1, always when absent. */
type Strikes = Readonly<{ times?: number; chance?: number }>
/** Strikes images that contain the text; every one when absent. */
type OfImage = Readonly<{ image?: string }>
/** Strikes one box by its slug; every one when absent. An engine knows images and projects, but no slug: what happens in it is of no box. */
type OfBox = Readonly<{ box?: string }>

/** One thing that goes wrong on a simulated host. */
export type Fault = Strikes &
  (
    | Readonly<{ kind: 'engine-down' | 'stop-fails' }>
    | (OfImage & Readonly<{ kind: 'registry-down' | 'tag-missing' | 'pull-fails' | 'dies-at-start' }>)
    /** A pull takes so much longer. */
    | (OfImage & Readonly<{ kind: 'slow-pull'; extraMs: Range }>)
    /** The host reaches the daemon no more; its boxes go on. Each call that breaks uses one of `times`. */
    | Readonly<{ kind: 'offline' }>
    /** The host's wall clock is ahead by so much, or behind when negative. It strikes at each look at the clock. */
    | Readonly<{ kind: 'clock-skew'; offsetMs: number }>
    /** The registry gives the image only to this account. */
    | (OfImage & Readonly<{ kind: 'needs-account'; username: string; password: string }>)
    /** The registry gives other bytes under a tag than the plan resolved. */
    | (OfImage & Readonly<{ kind: 'lying-digest' }>)
    /** The components that fail; all four when absent. Everything else about the box looks well. `onceOpen`: only while no fence stands. */
    | (OfImage & OfBox & Readonly<{ kind: 'probe-fails'; components?: readonly ProbeComponent[]; onceOpen?: boolean }>)
    | (OfBox & Readonly<{ kind: 'dump-fails' | 'load-fails' | 'migration-fails' | 'snapshot-fails' }>)
    | Readonly<{ kind: 'store-down' }>
    /** What a check of the snapshots comes upon, and how deep it must look for that. */
    | Readonly<{ kind: 'store-damaged'; found: 'structure' | 'data' }>
    | (OfImage & Readonly<{ kind: 'disk-full'; at: 'pull' }>)
    | (OfBox & Readonly<{ kind: 'disk-full'; at: 'dump' | 'snapshot' | 'load' }>)
  )

export type FaultKind = Fault['kind']

export type FaultProfile = Readonly<{ latencies: Latencies; faults: readonly Fault[] }>

const nothing: Range = [0, 0]

/** Nothing takes time and nothing fails: for tests of decisions. */
export const instant: FaultProfile = {
  latencies: {
    pullMs: nothing,
    upMs: nothing,
    stopMs: nothing,
    postgresStartMs: nothing,
    synapseStartMs: nothing,
    minioStartMs: nothing,
    schemaUpgradeMs: nothing,
    probeMs: nothing,
    dumpMs: nothing,
    loadMs: nothing,
    snapshotMs: nothing,
  },
  faults: [],
}

/** The times that small real boxes took on two cores; nothing fails. */
export const realistic: FaultProfile = {
  latencies: {
    pullMs: [4_000, 25_000],
    upMs: [900, 2_500],
    stopMs: [400, 3_000],
    postgresStartMs: [600, 2_000],
    synapseStartMs: [1_600, 6_000],
    minioStartMs: [300, 1_200],
    schemaUpgradeMs: [5_000, 90_000],
    probeMs: [8, 140],
    dumpMs: [1_500, 12_000],
    loadMs: [3_000, 20_000],
    snapshotMs: [2_000, 15_000],
  },
  faults: [],
}
