import type { BoxCommandResult, BoxRow } from '../../core/boxes/index.ts'
import { allPages, api, type PaletteEntry, queryClient, roleFor } from '../kit/index.ts'
import { askedOnce } from './asked-once.ts'
import { awaitCommand } from './await-command.ts'
import type { MoveTarget } from './commands.ts'
import { type BoxEvent, historyLimit, historyOf } from './history.ts'

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

export const sizesQuery = (slug: string) =>
  ({ queryKey: ['boxes', 'sizes', slug], queryFn: () => api.boxes.listBoxSizes({ params: { slug } }) }) as const

export const movePlanQuery = (slug: string, body: MoveTarget) => ({
  queryKey: ['box-move-plan', slug, body],
  queryFn: () => api.boxes.planMove({ params: { slug }, body }),
  refetchInterval: false as const,
})

/** Asks the agent once for each dialog: its answer is a command of its own, and an old one counts for nothing. */
export const importStateQuery = (slug: string, importId: string) => ({
  queryKey: ['box-import-state', slug, importId],
  queryFn: async () => {
    const { commandId } = await api.boxes.readImport({ params: { slug } })
    return (await awaitCommand(commandId)) as BoxCommandResult<'tenant-box.import_state'>
  },
  ...askedOnce,
})

export const snapshotsQuery = (slug: string) =>
  ({ queryKey: ['snapshots', 'of', slug], queryFn: () => api.snapshots.listSnapshots({ query: { slug, limit: 20 } }) }) as const

export const historyQuery = (slug: string) => ({ queryKey: ['boxes', 'history', slug], queryFn: () => readHistory(slug) }) as const

async function readHistory(slug: string): Promise<readonly BoxEvent[]> {
  const [{ entries }, { updates }, { alerts }, { snapshots }] = await Promise.all([
    api.audit.listAudit({ query: { subject: slug, limit: historyLimit } }),
    api.rollouts.listBoxUpdates({ params: { slug } }),
    api.alerts.listAlerts({ query: { subject: slug, limit: historyLimit } }),
    api.snapshots.listSnapshots({ query: { slug, limit: historyLimit } }),
  ])
  return historyOf({ entries, updates, alerts, snapshots })
}

const maxFound = 8

/** Actions of the palette for a box; the page asks before it acts. */
const verbs = [
  { verb: 'Scan', asks: 'scan', role: roleFor('boxes', 'scanBoxes') },
  { verb: 'Probe', asks: 'check', role: roleFor('boxes', 'checkBox') },
  { verb: 'Restart', asks: 'restart', role: roleFor('boxes', 'restartBox') },
  { verb: 'Enter or end maintenance of', asks: 'maintenance', role: roleFor('boxes', 'maintainBox') },
  { verb: 'Move', asks: 'move', role: roleFor('boxes', 'moveBox') },
  { verb: 'Remove', asks: 'remove', role: roleFor('boxes', 'removeBox') },
  { verb: 'Snapshots of', asks: undefined, role: undefined },
] as const

/** Boxes for the palette, found by the daemon; `scan linden` offers that action first. */
export async function searchBoxes(text: string): Promise<readonly PaletteEntry[]> {
  const [, verb = '', slug = ''] = /^(.*?)([a-z0-9-]{2,40})$/.exec(text.trim().toLowerCase()) ?? []
  if (slug === '') return []
  const { boxes } = await queryClient.fetchQuery({
    queryKey: ['boxes', 'search', slug],
    queryFn: () => api.boxes.listBoxes({ query: { slug, limit: maxFound } }),
  })
  const pages = boxes.map((box) => ({ id: `box ${box.slug}`, label: box.slug, detail: `box on ${box.host}`, to: `/boxes/${box.slug}` }))
  const actions = boxes.slice(0, verb.trim() === '' ? 1 : maxFound).flatMap((box) => actionsOf(box.slug, verb.trim()))
  return verb.trim() === '' ? [...pages, ...actions] : actions
}

const actionsOf = (slug: string, typed: string): readonly PaletteEntry[] =>
  verbs
    .filter(({ verb }) => verb.toLowerCase().includes(typed))
    .map(({ verb, asks, role }) => ({
      ...{ id: `${verb} ${slug}`, label: `${verb} ${slug}`, detail: 'action' },
      to: asks ? `/boxes/${slug}` : `/snapshots?slug=${slug}`,
      ...(asks ? { asks, role } : {}),
    }))
