import type { Tier } from '../boxes/index.ts'
import { sha256Hex } from '../kit/index.ts'
import type { Phase, RolloutKind } from './rollout.ts'

/** The facts that decide the phase of a box. `databaseBytes` is null until measured. */
export type Candidate = Readonly<{ slug: string; tier: Tier; canary: boolean; databaseBytes: number | null; updates: boolean }>

const tierPhase = { free: 'free_100', pro: 'pro', enterprise: 'enterprise' } as const satisfies Record<Tier, Phase>

/** One in twenty Light boxes (5 %, rounded up) is updated before the rest. */
const oneIn = 20

const bySize = (a: Candidate, b: Candidate) => (a.databaseBytes ?? 0) - (b.databaseBytes ?? 0) || (a.slug < b.slug ? -1 : 1)

/** Boxes marked canary; else the Light box, else any box, of median database size among those to update. */
export function chooseCanaries(boxes: readonly Candidate[]): ReadonlySet<string> {
  const marked = boxes.filter((box) => box.canary)
  if (marked.length > 0) return new Set(marked.map((box) => box.slug))
  const updating = boxes.filter((box) => box.updates)
  const light = updating.filter((box) => box.tier === 'free')
  const pool = (light.length > 0 ? light : updating).toSorted(bySize)
  const median = pool[Math.floor((pool.length - 1) / 2)]
  return new Set(median ? [median.slug] : [])
}

/** Random order by rollout: the same rollout always chooses the same boxes. */
const draw = (rolloutId: string, slug: string) => sha256Hex(`${rolloutId}\n${slug}`)

function chooseFirst(rolloutId: string, boxes: readonly Candidate[], canaries: ReadonlySet<string>): ReadonlySet<string> {
  const light = boxes.filter((box) => box.tier === 'free')
  const drawn = light
    .filter((box) => !canaries.has(box.slug))
    .map((box) => ({ slug: box.slug, order: draw(rolloutId, box.slug) }))
    .toSorted((a, b) => (a.order < b.order ? -1 : 1))
  return new Set(drawn.slice(0, Math.ceil(light.length / oneIn)).map(({ slug }) => slug))
}

/** Phase per slug (DESIGN 7). In an emergency every box is in the phase of its tier. */
export function assignPhases(rolloutId: string, kind: RolloutKind, boxes: readonly Candidate[]): ReadonlyMap<string, Phase> {
  const staged = kind === 'staged'
  const canaries = staged ? chooseCanaries(boxes) : new Set<string>()
  const first = staged ? chooseFirst(rolloutId, boxes, canaries) : new Set<string>()
  const phase = ({ slug, tier }: Candidate): Phase => (canaries.has(slug) ? 'canary' : first.has(slug) ? 'free_5' : tierPhase[tier])
  return new Map(boxes.map((box) => [box.slug, phase(box)]))
}

/** How long a box occupies a slot, and on which host. */
export type Slot = Readonly<{ hostId: string; slug: string; expectedMs: number }>

export type Parallelism = Readonly<{ parallel: number; perHost: number }>

/** A rollout may have its own number of boxes at once. */
export const limitsOf = ({ parallel, perHost }: Parallelism, own: Readonly<{ parallel?: number | null | undefined }>): Parallelism => ({
  parallel: own.parallel ?? parallel,
  perHost,
})

/** The longest updates begin first, so that none runs alone at the end; then by slug. */
export const slowestFirst = (a: Slot, b: Slot): number => b.expectedMs - a.expectedMs || (a.slug < b.slug ? -1 : 1)

/** The boxes that may begin now beside those in flight: at most `perHost` on a host and `parallel` in all, in the order of `waiting`. */
export function assignSlots<T extends Slot>(waiting: Iterable<T>, inFlight: readonly { hostId: string }[], limits: Parallelism): T[] {
  const busy = new Map<string, number>()
  for (const { hostId } of inFlight) busy.set(hostId, (busy.get(hostId) ?? 0) + 1)
  const chosen: T[] = []
  for (const slot of waiting) {
    if (inFlight.length + chosen.length >= limits.parallel) break
    const onHost = busy.get(slot.hostId) ?? 0
    if (onHost >= limits.perHost) continue
    busy.set(slot.hostId, onHost + 1)
    chosen.push(slot)
  }
  return chosen
}

/** A slot that depends on the time: `earliestMs` answers the first moment at or after the given one at which it may begin. */
type TimedSlot = Slot & Readonly<{ earliestMs?: ((fromMs: number) => number) | undefined }>
type Waiting = TimedSlot & { readyMs: number }

/** Duration of a phase that begins at `startMs`, without failures: simulates the queue. */
export function makespanMs(slots: readonly TimedSlot[], limits: Parallelism, startMs = 0): number {
  const waiting: Waiting[] = slots.toSorted(slowestFirst).map((slot) => ({ ...slot, readyMs: startMs }))
  const timed = slots.some(({ earliestMs }) => earliestMs !== undefined)
  let running: { hostId: string; endMs: number }[] = []
  let nowMs = startMs
  for (;;) {
    for (const slot of assignSlots(timed ? readyOf(waiting, nowMs) : waiting, running, limits)) {
      running.push({ hostId: slot.hostId, endMs: nowMs + slot.expectedMs })
      waiting.splice(waiting.indexOf(slot), 1)
    }
    const full = running.length >= limits.parallel
    const nextMs = Math.min(nextEndMs(running), timed && !full ? nextReadyMs(waiting, nowMs) : Number.POSITIVE_INFINITY)
    if (nextMs === Number.POSITIVE_INFINITY) return nowMs - startMs
    nowMs = nextMs
    running = running.filter(({ endMs }) => endMs > nowMs)
  }
}

/** A generator, because thousands may wait for a few slots. */
function* readyOf(waiting: readonly Waiting[], nowMs: number): Generator<Waiting> {
  for (const slot of waiting) if (isReady(slot, nowMs)) yield slot
}

/** A slot that was ready before may have to wait for its next window. */
function isReady(slot: Waiting, nowMs: number): boolean {
  if (slot.readyMs <= nowMs && slot.earliestMs) slot.readyMs = slot.earliestMs(nowMs)
  return slot.readyMs <= nowMs
}

const nextEndMs = (running: readonly { endMs: number }[]) => Math.min(Number.POSITIVE_INFINITY, ...running.map(({ endMs }) => endMs))

const nextReadyMs = (waiting: readonly Waiting[], nowMs: number) =>
  waiting.reduce((next, { readyMs }) => (readyMs > nowMs ? Math.min(next, readyMs) : next), Number.POSITIVE_INFINITY)
