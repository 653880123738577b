import type { RolloutAction } from '../../../core/rollouts/index.ts'

export type Page = readonly RolloutAction[]

/**
 * All boxes of a rollout, never changed: a message about one of thousands makes anew the page that it stands on, and whatever was found out
 * about the other pages holds.
 */
export type Boxes = Readonly<{ pages: readonly Page[]; places: ReadonlyMap<string, number> }>

const pageLength = 100

/** In the order that they are given. */
export const boxesOf = (actions: readonly RolloutAction[]): Boxes => ({
  pages: Array.from({ length: Math.ceil(actions.length / pageLength) }, (_, n) => actions.slice(n * pageLength, (n + 1) * pageLength)),
  places: new Map(actions.map(({ tenantSlug }, place) => [tenantSlug, place])),
})

export const boxOf = ({ pages, places }: Boxes, slug: string): RolloutAction | undefined => {
  const place = places.get(slug)
  return place === undefined ? undefined : pages[pageAt(place)]?.[place % pageLength]
}

export const allBoxes = ({ pages }: Boxes): RolloutAction[] => pages.flat()

/** In its own place; last where it was not known. */
export function withBox(boxes: Boxes, action: RolloutAction): Boxes {
  const { pages, places } = boxes
  const place = places.get(action.tenantSlug)
  if (place === undefined) return boxesOf([...allBoxes(boxes), action])
  const page = (pages[pageAt(place)] ?? []).with(place % pageLength, action)
  return { pages: pages.with(pageAt(place), page), places }
}

const pageAt = (place: number): number => Math.floor(place / pageLength)
