import type { BoxRow } from '../../core/boxes/index.ts'
import { allPages, api, type PaletteEntry, queryClient } from '../kit/index.ts'

const pageLimit = 1000

const allBoxes = async (): Promise<readonly BoxRow[]> =>
  (await allPages((at) => api.boxes.listBoxes({ query: { limit: pageLimit, ...at } }))).flatMap(({ boxes }) => boxes)

/** A large fleet is several megabytes: it is refreshed less often. */
const [smallFleet, oftenMs, rarelyMs] = [1000, 10_000, 60_000]

export const boxesQuery = {
  queryKey: ['boxes', 'all'],
  queryFn: allBoxes,
  staleTime: oftenMs,
  refetchInterval: ({ state: { data } }: { state: { data: readonly BoxRow[] | undefined } }) =>
    (data?.length ?? 0) > smallFleet ? rarelyMs : oftenMs,
} as const

export const fleetQuery = { queryKey: ['boxes', 'counts'], queryFn: () => api.boxes.countBoxes() } as const

export const boxQuery = (slug: string) =>
  ({ queryKey: ['boxes', 'one', slug], queryFn: () => api.boxes.showBox({ params: { slug } }) }) as const

export const snapshotsQuery = (slug: string) =>
  ({ queryKey: ['snapshots', 'of', slug], queryFn: () => api.snapshots.listSnapshots({ query: { slug, limit: 20 } }) }) as const

export const historyQuery = (slug: string) =>
  ({ queryKey: ['audit', 'of', slug], queryFn: () => api.audit.listAudit({ query: { subject: slug, limit: 50 } }) }) as const

const maxFound = 8

/** Boxes for the palette, found by the daemon. */
export async function searchBoxes(text: string): Promise<readonly PaletteEntry[]> {
  const slug = text.trim().toLowerCase()
  if (!/^[a-z0-9-]{2,40}$/.test(slug)) return []
  const { boxes } = await queryClient.fetchQuery({
    queryKey: ['boxes', 'search', slug],
    queryFn: () => api.boxes.listBoxes({ query: { slug, limit: maxFound } }),
  })
  return boxes.map((box) => ({ id: `box ${box.slug}`, label: box.slug, detail: `box on ${box.host}`, to: `/boxes/${box.slug}` }))
}
