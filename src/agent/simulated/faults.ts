import type { ProbeComponent } from '../../core/boxes/index.ts'
import { type Clock, type Random, sha256Hex } from '../../core/kit/index.ts'

/** What is looked at when a fault is searched for. */
type Happening = Readonly<{ image?: string; box?: string }>

export type Faults = Readonly<{
  /** The first fault of the kind that strikes here now; each answer uses one of its `times`. */
  strike<Kind extends FaultKind>(
    kind: Kind,
    at: Happening,
    matches?: (fault: Extract<Fault, { kind: Kind }>) => boolean,
  ): Extract<Fault, { kind: Kind }> | undefined
  /** Adds a fault; the answer takes it away again. */
  inject(fault: Fault): () => void
  /** Waits as long as the profile says this takes. */
  linger(what: keyof Latencies, signal?: AbortSignal): Promise<void>
  draw(what: keyof Latencies): number
}>

type Deps = Readonly<{ clock: Clock; random: Random; latencies: Latencies; faults: readonly Fault[] }>

export function makeFaults({ clock, random, latencies, faults }: Deps): Faults {
  const active = faults.map((fault) => ({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }))
  const draw = (what: keyof Latencies) => within(latencies[what], random)
  return {
    strike: (kind, at, matches = () => true) => {
      for (const entry of active) {
        const { fault } = entry
        if (fault.kind !== kind || entry.left <= 0 || !isHere(fault, at) || !matches(fault as never)) continue
        if (fault.chance !== undefined && unit(random) >= fault.chance) continue
        entry.left -= 1
        return fault as never
      }
      return undefined
    },
    inject: (fault) => {
      const entry = { fault, left: fault.times ?? Number.POSITIVE_INFINITY }
      active.push(entry)
      return () => {
        entry.left = 0
      }
    },
    linger: async (what, signal) => {
      signal?.throwIfAborted()
      await clock.sleep(draw(what), signal)
      signal?.throwIfAborted()
    },
    draw,
  }
}

const isHere = (fault: Happening & Pick<Fault, 'kind'>, { image, box }: Happening): boolean =>
  (fault.image === undefined || (image?.includes(fault.image) ?? false)) && (fault.box === undefined || fault.box === box)

/** One of a range by chance, the same for the same seed. */
export const within = ([min, max]: Range, random: Random): number => (max <= min ? min : Math.round(min + unit(random) * (max - min)))

/** From and to, in milliseconds; each use draws its own. */
type Range = readonly [min: number, max: number]

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

type FaultKind = Fault['kind']

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

/** Bytes that depend on the seed and the order of the calls alone: a rehearsal can be repeated. Never for keys. */
export function seededRandom(seed: string): Random {
  let block = 0
  let left: number[] = []
  const refill = () => left.push(...Buffer.from(sha256Hex(`${seed}/${block++}`), 'hex'))
  return {
    bytes: (count) => {
      while (left.length < count) refill()
      const taken = left.slice(0, count)
      left = left.slice(count)
      return Uint8Array.from(taken)
    },
  }
}

/** From 0 up to, not including, 1. */
const unit = (random: Random): number => Buffer.from(random.bytes(4)).readUInt32BE() / 2 ** 32
