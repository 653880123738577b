import type { ProbeComponent } from '../../core/boxes/index.ts'
import { type Clock, type Random, sha256Hex } from '../../core/kit/index.ts'

/** The operation for which faults are matched. */
type Happening = Readonly<{ image?: string; box?: string }>

export type Faults = Readonly<{
  /** Returns the first matching fault of a kind and uses one of its `times`. */
  strike<Kind extends FaultKind>(
    kind: Kind,
    at: Happening,
    matches?: (fault: Extract<Fault, { kind: Kind }>) => boolean,
  ): Extract<Fault, { kind: Kind }> | undefined
  /** Adds a fault; the returned function removes it. */
  inject(fault: Fault): () => void
  /** Sleeps for a latency of the profile. */
  linger(what: keyof Latencies, signal?: AbortSignal): Promise<void>
  draw(what: keyof Latencies): number
}>

const isOfKind = <Kind extends FaultKind>(fault: Fault, kind: Kind): fault is Extract<Fault, { kind: Kind }> => fault.kind === kind

type Deps = Readonly<{ clock: Clock; random: Random; latencies: Latencies; faults: readonly Fault[] }>

export function makeFaults({ clock, random, latencies, faults }: Deps): Faults {
  const active = faults.map((fault) => ({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }))
  const draw = (what: keyof Latencies) => within(latencies[what], random)
  return {
    strike: (kind, at, matches = () => true) => {
      for (const entry of active) {
        const { fault } = entry
        if (!isOfKind(fault, kind) || entry.left <= 0 || !isHere(fault, at) || !matches(fault)) continue
        if (fault.chance !== undefined && unit(random) >= fault.chance) continue
        entry.left -= 1
        return fault
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

/** A random value of a range, deterministic for a seed. */
export const within = ([min, max]: Range, random: Random): number => (max <= min ? min : Math.round(min + unit(random) * (max - min)))

/** Minimum and maximum in milliseconds; each use draws a new value. */
type Range = readonly [min: number, max: number]

/** Latencies of a simulated host. */
export type Latencies = Readonly<{
  pullMs: Range
  upMs: Range
  stopMs: Range
  /** From container start until it answers. */
  postgresStartMs: Range
  synapseStartMs: Range
  minioStartMs: Range
  /** Duration of Synapse's schema upgrade before it listens. */
  schemaUpgradeMs: Range
  probeMs: Range
  dumpMs: Range
  loadMs: Range
  snapshotMs: Range
}>

/** `times`: number of occurrences, default unlimited. `chance`: probability from 0 to 1, default 1. */
type Strikes = Readonly<{ times?: number; chance?: number }>
/** Matches images that contain the text; default all. */
type OfImage = Readonly<{ image?: string }>
/** Matches one box by slug; default all. Engine faults cannot match boxes, because the engine knows only images and projects. */
type OfBox = Readonly<{ box?: string }>

/** A fault of a simulated host. */
export type Fault = Strikes &
  (
    | Readonly<{ kind: 'engine-down' | 'stop-fails' }>
    | (OfImage & Readonly<{ kind: 'registry-down' | 'tag-missing' | 'pull-fails' | 'dies-at-start' | 'wrong-platform' }>)
    /** Adds latency to a pull. */
    | (OfImage & Readonly<{ kind: 'slow-pull'; extraMs: Range }>)
    /** The host cannot reach the daemon; its boxes keep running. Each failed call uses one of `times`. */
    | Readonly<{ kind: 'offline' }>
    /** Offset of the host's wall clock; negative is behind. Each read uses one of `times`. */
    | Readonly<{ kind: 'clock-skew'; offsetMs: number }>
    /** The registry requires this account. */
    | (OfImage & Readonly<{ kind: 'needs-account'; username: string; password: string }>)
    /** The registry returns another digest than the plan resolved. */
    | (OfImage & Readonly<{ kind: 'lying-digest' }>)
    /** Failing components, default all four. `onceOpen`: only while the box is not fenced. */
    | (OfImage & OfBox & Readonly<{ kind: 'probe-fails'; components?: readonly ProbeComponent[]; onceOpen?: boolean }>)
    | (OfBox & Readonly<{ kind: 'dump-fails' | 'load-fails' | 'migration-fails' | 'snapshot-fails' }>)
    | Readonly<{ kind: 'store-down' }>
    /** Damage found by a check of at least this depth. */
    | Readonly<{ kind: 'store-damaged'; found: 'structure' | 'data' }>
    | (OfImage & Readonly<{ kind: 'disk-full'; at: 'pull' }>)
    | (OfBox & Readonly<{ kind: 'disk-full'; at: 'dump' | 'snapshot' | 'load' }>)
  )

type FaultKind = Fault['kind']

export type FaultProfile = Readonly<{ latencies: Latencies; faults: readonly Fault[] }>

const nothing: Range = [0, 0]

/** No latency and no faults. */
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

/** Latencies measured with small real boxes on two cores; no faults. */
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

/** Deterministic random bytes for reproducible rehearsals. Never for keys. */
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

/** A number in [0, 1). */
const unit = (random: Random): number => Buffer.from(random.bytes(4)).readUInt32BE() / 2 ** 32
