import { duration, problem } from '../../core/kit/index.ts'
import type { Snapshot } from '../../core/snapshots/index.ts'
import { getBox } from '../boxes/index.ts'
import { ago, type Column, type Context, command, count, oneOf, type Paint, type Style, sections, table, text } from '../kit/index.ts'

export const list = command(
  'list',
  'Snapshots, newest first, with why each is kept and when it was last proven',
  {
    slug: text('--slug <slug>', 'of one box'),
    tier: oneOf('--tier <tier>', 'taken for this reason', ['pre-update', 'daily', 'manual', 'pre-restore', 'final']),
    status: oneOf('--status <status>', 'in one status', ['present', 'forgotten', 'missing', 'damaged']),
    limit: count('--limit <count>', 'at most so many'),
    cursor: text('--cursor <cursor>', 'go on where the page before ended'),
  },
  async ({ api }, query) => {
    const page = await api.snapshots.listSnapshots({ query })
    const { slug, tier, status, cursor } = query
    // Throws NOT_FOUND: of a box that there is not it is not said that it has no snapshots. One that was erased may still have some.
    if (slug !== undefined && !(tier || status || cursor) && page.snapshots.length === 0) await getBox({ api }, slug)
    return page
  },
  snapshotList,
)

/** As much of an id as a person copies; its beginning is enough wherever it is the only one. */
export const shortId = (id: string): string => id.slice(0, 8)

const tint = { present: 'green', forgotten: 'dim', missing: 'red', damaged: 'red' } as const satisfies Record<
  Snapshot['status'],
  keyof Paint
>

const units = ['B', 'kB', 'MB', 'GB', 'TB']

/** `4.1 MB`: in thousands, as disks are sold. */
function size(bytes: number): string {
  const unit = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  const amount = bytes / 1000 ** unit
  return `${unit === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`
}

/** A drill that failed since the snapshot last came back says more than that it did. */
const failedSince = ({ lastDrill, lastProof }: Snapshot): boolean => lastDrill?.ok === false && lastDrill.at > (lastProof?.at ?? '')

function proof(snapshot: Snapshot, now: Date): string | null {
  const { lastDrill, lastProof } = snapshot
  if (failedSince(snapshot)) return `failed ${ago(lastDrill?.at, now)}`
  return lastProof && `${ago(lastProof.at, now)}${lastProof.durationMs === null ? '' : `, in ${duration(lastProof.durationMs)}`}`
}

const columns = ({ now }: Style): Column<Snapshot>[] => [
  { title: 'SNAPSHOT', value: ({ snapshotId }) => shortId(snapshotId), priority: 1 },
  { title: 'BOX', value: ({ slug }) => slug, priority: 1, minWidth: 12 },
  { title: 'TIER', value: ({ tier }) => tier, priority: 2 },
  { title: 'TAKEN', value: ({ takenAt }) => ago(takenAt, now), priority: 1 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1, paint: ({ status }) => tint[status] },
  {
    title: 'PROVEN',
    value: (snapshot) => proof(snapshot, now),
    priority: 2,
    paint: (snapshot) => (failedSince(snapshot) ? 'red' : undefined),
  },
  { title: 'KEPT BECAUSE', value: ({ keptBecause }) => keptBecause, priority: 3, minWidth: 16 },
  { title: 'ADDED', value: ({ addedBytes }) => (addedBytes === null ? null : size(addedBytes)), priority: 4, align: 'right' },
  { title: 'TOOK', value: ({ durationMs }) => (durationMs === null ? null : duration(durationMs)), priority: 5, align: 'right' },
  { title: 'SYNAPSE', value: ({ installed }) => installed?.synapse, priority: 5 },
]

type Page = Readonly<{ snapshots: readonly Snapshot[]; nextCursor: string | null }>

function snapshotList({ snapshots, nextCursor }: Page, style: Style, filters: Readonly<Record<string, unknown>>): string {
  if (snapshots.length > 0)
    return sections(table(style, columns(style), snapshots), nextCursor ? `More: the same command with --cursor ${nextCursor}` : '')
  const filtered = Object.values(filters).some((value) => value !== undefined)
  return filtered ? 'No snapshot fits. tenantry snapshots list shows all.' : 'No snapshots yet. Take one: tenantry snapshots take <slug>'
}

/** The snapshot of a box that is meant by the beginning of its id. Throws NOT_FOUND, of the box where there is none either, and USAGE when several begin like that. */
export async function findSnapshot({ api }: Pick<Context, 'api'>, slug: string, id: string): Promise<Snapshot> {
  const { snapshots } = await api.snapshots.listSnapshots({ query: { slug, id, limit: 2 } })
  const [found, other] = snapshots
  if (!found) await getBox({ api }, slug)
  if (!found) throw problem('NOT_FOUND', `${slug} has no snapshot ${id}: \`tenantry snapshots list --slug ${slug}\` shows all`)
  if (other)
    throw problem('USAGE', `several snapshots of ${slug} begin with ${id}, such as ${shortId(found.snapshotId)}: give more of the id`)
  return found
}
