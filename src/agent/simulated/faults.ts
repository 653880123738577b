import type { Clock, Random } from '../../core/kit/index.ts'
import type { Fault, FaultKind, Latencies, Range } from './fault-profile.ts'
import { unit } from './seeded-random.ts'

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
