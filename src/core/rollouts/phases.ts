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
