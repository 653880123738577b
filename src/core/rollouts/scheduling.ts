import type { Tier } from '../boxes/index.ts'
import { sha256Hex } from '../kit/index.ts'
import type { Phase, RolloutKind } from './rollout.ts'

/** What the choice of phases looks at. `databaseBytes` is null where nobody measured. */
export type Candidate = Readonly<{ slug: string; tier: Tier; canary: boolean; databaseBytes: number | null; updates: boolean }>

const tierPhase = { free: 'free_100', pro: 'pro', enterprise: 'enterprise' } as const satisfies Record<Tier, Phase>

/** One in twenty Light boxes goes before the rest of them: 5 %, rounded up, without the rounding of fractions. */
const oneIn = 20

const bySize = (a: Candidate, b: Candidate) => (a.databaseBytes ?? 0) - (b.databaseBytes ?? 0) || (a.slug < b.slug ? -1 : 1)

/** Boxes marked canary; else the Light box, else any, of median database size among those that have something to do. */
export function chooseCanaries(boxes: readonly Candidate[]): ReadonlySet<string> {
  const marked = boxes.filter((box) => box.canary)
  if (marked.length > 0) return new Set(marked.map((box) => box.slug))
  const updating = boxes.filter((box) => box.updates)
  const light = updating.filter((box) => box.tier === 'free')
  const pool = (light.length > 0 ? light : updating).toSorted(bySize)
  const median = pool[Math.floor((pool.length - 1) / 2)]
  return new Set(median ? [median.slug] : [])
}

/** The draw of a rollout: another rollout draws other boxes, the same one always the same. */
const draw = (rolloutId: string, slug: string) => sha256Hex(`${rolloutId}\n${slug}`)

function chooseFirst(rolloutId: string, boxes: readonly Candidate[], canaries: ReadonlySet<string>): ReadonlySet<string> {
  const light = boxes.filter((box) => box.tier === 'free')
  const drawn = light
    .filter((box) => !canaries.has(box.slug))
    .map((box) => ({ slug: box.slug, order: draw(rolloutId, box.slug) }))
    .toSorted((a, b) => (a.order < b.order ? -1 : 1))
  return new Set(drawn.slice(0, Math.ceil(light.length / oneIn)).map(({ slug }) => slug))
}

/** Phase per slug (DESIGN 7). In an emergency every box goes with its tier. */
export function assignPhases(rolloutId: string, kind: RolloutKind, boxes: readonly Candidate[]): ReadonlyMap<string, Phase> {
  const staged = kind === 'staged'
  const canaries = staged ? chooseCanaries(boxes) : new Set<string>()
  const first = staged ? chooseFirst(rolloutId, boxes, canaries) : new Set<string>()
  const phase = ({ slug, tier }: Candidate): Phase => (canaries.has(slug) ? 'canary' : first.has(slug) ? 'free_5' : tierPhase[tier])
  return new Map(boxes.map((box) => [box.slug, phase(box)]))
}

/** One box's turn: how long it keeps a worker, and which host it keeps busy. */
export type Slot = Readonly<{ hostId: string; slug: string; expectedMs: number }>

export type Parallelism = Readonly<{ parallel: number; perHost: number }>

/** The longest go first, so that no long one is left alone at the end; then by slug. */
export const longestFirst = (a: Slot, b: Slot): number => b.expectedMs - a.expectedMs || (a.slug < b.slug ? -1 : 1)

/** The boxes that may start now, given those in flight: hosts with room, at most `parallel` together. `waiting` is in order of turn. */
export function assignSlots<T extends Slot>(waiting: Iterable<T>, inFlight: readonly { hostId: string }[], limits: Parallelism): T[] {
  const busy = new Map<string, number>()
  for (const { hostId } of inFlight) busy.set(hostId, (busy.get(hostId) ?? 0) + 1)
  const chosen: T[] = []
  for (const turn of waiting) {
    if (inFlight.length + chosen.length >= limits.parallel) break
    const onHost = busy.get(turn.hostId) ?? 0
    if (onHost >= limits.perHost) continue
    busy.set(turn.hostId, onHost + 1)
    chosen.push(turn)
  }
  return chosen
}

/** A turn that may not come at any time: `earliestMs` answers the first moment at or after the given one at which it may. */
type TimedSlot = Slot & Readonly<{ earliestMs?: ((fromMs: number) => number) | undefined }>
type Waiting = TimedSlot & { readyMs: number }

/** How long a phase takes that begins then, when nothing fails: the queue played through. */
export function makespanMs(turns: readonly TimedSlot[], limits: Parallelism, startMs = 0): number {
  const waiting: Waiting[] = turns.toSorted(longestFirst).map((turn) => ({ ...turn, readyMs: startMs }))
  const timed = turns.some(({ earliestMs }) => earliestMs !== undefined)
  let running: { hostId: string; endMs: number }[] = []
  let nowMs = startMs
  for (;;) {
    for (const turn of assignSlots(timed ? readyOf(waiting, nowMs) : waiting, running, limits)) {
      running.push({ hostId: turn.hostId, endMs: nowMs + turn.expectedMs })
      waiting.splice(waiting.indexOf(turn), 1)
    }
    const full = running.length >= limits.parallel
    const nextMs = Math.min(nextEndMs(running), timed && !full ? nextReadyMs(waiting, nowMs) : Number.POSITIVE_INFINITY)
    if (nextMs === Number.POSITIVE_INFINITY) return nowMs - startMs
    nowMs = nextMs
    running = running.filter(({ endMs }) => endMs > nowMs)
  }
}

/** Looked for only until every place is taken: thousands wait for a few. */
function* readyOf(waiting: readonly Waiting[], nowMs: number): Generator<Waiting> {
  for (const turn of waiting) if (isReady(turn, nowMs)) yield turn
}

/** What was ready may not be so any more. */
function isReady(turn: Waiting, nowMs: number): boolean {
  if (turn.readyMs <= nowMs && turn.earliestMs) turn.readyMs = turn.earliestMs(nowMs)
  return turn.readyMs <= nowMs
}

const nextEndMs = (running: readonly { endMs: number }[]) => Math.min(Number.POSITIVE_INFINITY, ...running.map(({ endMs }) => endMs))

const nextReadyMs = (waiting: readonly Waiting[], nowMs: number) =>
  waiting.reduce((next, { readyMs }) => (readyMs > nowMs ? Math.min(next, readyMs) : next), Number.POSITIVE_INFINITY)
