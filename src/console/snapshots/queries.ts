import type { CommandView } from '../../core/hosts/index.ts'
import type { Snapshot, SnapshotStatus } from '../../core/snapshots/index.ts'
import { api } from '../kit/index.ts'

export type SnapshotFilter = Readonly<{ slug?: string; tier?: Snapshot['tier']; status?: SnapshotStatus; cursor?: string }>

const pageLimit = 200

export const snapshotsQuery = (filter: SnapshotFilter) => ({
  queryKey: ['snapshots', 'list', filter],
  queryFn: () => api.snapshots.listSnapshots({ query: { ...filter, limit: pageLimit } }),
})

const commandPollMs = 1000
const ends: readonly CommandView['status'][] = ['succeeded', 'failed', 'expired']

export const isEnded = ({ status }: CommandView): boolean => ends.includes(status)

/** A command of an agent, asked for until it ends. */
export const commandQuery = (id: string) => ({
  queryKey: ['snapshot-command', id],
  queryFn: () => api.hosts.showCommand({ params: { id }, query: { waitMs: 0 } }),
  refetchInterval: ({ state }: { state: { data: CommandView | undefined } }) =>
    state.data && isEnded(state.data) ? (false as const) : commandPollMs,
})
