import { bytesText, duration, problem } from '../../core/kit/index.ts'
import { hasFailedSinceProof, type Snapshot } from '../../core/snapshots/index.ts'
import { getBox } from '../boxes/index.ts'
import { ago, type Column, type Context, command, count, oneOf, type Paint, type Style, sections, table, text } from '../kit/index.ts'

export const list = command('list', 'List snapshots, newest first', {
  options: {
    slug: text('--slug <slug>', 'filter by box'),
    kind: oneOf('--kind <kind>', 'filter by kind', ['pre-update', 'daily', 'manual', 'pre-restore', 'final', 'recovered']),
    status: oneOf('--status <status>', 'filter by status', ['present', 'forgotten', 'missing', 'damaged']),
    limit: count('--limit <count>', 'max results'),
    cursor: text('--cursor <cursor>', 'pagination cursor'),
  },
  run: async ({ api }, { kind, ...query }) => {
    const page = await api.snapshots.listSnapshots({ query: { ...query, ...(kind ? { tier: kind } : {}) } })
    const { slug, status, cursor } = query
    // Throws NOT_FOUND for an unknown box. An erased box may still have snapshots.
    if (slug !== undefined && !(kind || status || cursor) && page.snapshots.length === 0) await getBox({ api }, slug)
    return page
  },
  view: snapshotList,
})

/** The displayed prefix of an id. */
export const shortId = (id: string): string => id.slice(0, 8)

const tint = { present: 'green', forgotten: 'dim', missing: 'red', damaged: 'red' } as const satisfies Record<
  Snapshot['status'],
  keyof Paint
>

function proof(snapshot: Snapshot, now: Date): string | null {
  const { lastDrill, lastProof } = snapshot
  if (hasFailedSinceProof(snapshot)) return `failed ${ago(lastDrill?.at, now)}`
  return lastProof && `${ago(lastProof.at, now)}${lastProof.durationMs === null ? '' : `, in ${duration(lastProof.durationMs)}`}`
}

const columns = ({ now }: Style): Column<Snapshot>[] => [
  { title: 'SNAPSHOT', value: ({ snapshotId }) => shortId(snapshotId), priority: 1 },
  { title: 'BOX', value: ({ slug }) => slug, priority: 1, minWidth: 12 },
  { title: 'KIND', value: ({ tier }) => tier, priority: 2 },
  { title: 'TAKEN', value: ({ takenAt }) => ago(takenAt, now), priority: 1 },
  { title: 'STATUS', value: ({ status }) => status, priority: 1, paint: ({ status }) => tint[status] },
  {
    title: 'LAST DRILL',
    value: (snapshot) => proof(snapshot, now),
    priority: 2,
    paint: (snapshot) => (hasFailedSinceProof(snapshot) ? 'red' : undefined),
  },
  { title: 'RETENTION REASON', value: ({ keptBecause }) => keptBecause, priority: 3, minWidth: 16 },
  { title: 'ADDED', value: ({ addedBytes }) => (addedBytes === null ? null : bytesText(addedBytes)), priority: 4, align: 'right' },
  { title: 'DURATION', value: ({ durationMs }) => (durationMs === null ? null : duration(durationMs)), priority: 5, align: 'right' },
  { title: 'SYNAPSE', value: ({ installed }) => installed?.synapse, priority: 5 },
]

type Page = Readonly<{ snapshots: readonly Snapshot[]; nextCursor: string | null }>

function snapshotList({ snapshots, nextCursor }: Page, style: Style, filters: Readonly<Record<string, unknown>>): string {
  if (snapshots.length > 0) return sections(table(style, columns(style), snapshots), nextCursor ? `Next page: --cursor ${nextCursor}` : '')
  const filtered = Object.values(filters).some((value) => value !== undefined)
  return filtered ? 'No snapshots match. All snapshots: tenantry snapshots list' : 'No snapshots. Take one: tenantry snapshots take <slug>'
}

/** Finds a snapshot by a prefix of its id. Throws NOT_FOUND for the box or the snapshot, USAGE for an ambiguous prefix. */
export async function findSnapshot({ api }: Pick<Context, 'api'>, slug: string, id: string): Promise<Snapshot> {
  const { snapshots } = await api.snapshots.listSnapshots({ query: { slug, id, limit: 2 } })
  const [found, other] = snapshots
  if (!found) await getBox({ api }, slug)
  if (!found) throw problem('NOT_FOUND', `${slug} has no snapshot ${id}. fix: \`tenantry snapshots list --slug ${slug}\``)
  if (other)
    throw problem(
      'USAGE',
      `${id} is ambiguous: several snapshots of ${slug} match, such as ${shortId(found.snapshotId)}. fix: pass more of the id`,
    )
  return found
}
