import { type BoxId, type BoxStatus, type Freshness, freshnessOf, type HostId } from '../../core/boxes/index.ts'
import { isOffline } from '../../core/hosts/index.ts'
import { type Clock, elapsedMs, isoNow } from '../../core/kit/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { type Command, commandsByIds, type HostSummary, hostSummaries } from '../hosts/index.ts'
import { type BoxHold, holdsOf } from './box-holds.ts'
import type { BoxRecord } from './box-record.ts'
import { boxesBetweenHosts, latestMoves, type Move } from './lifecycle/procedures.repo.ts'

export type FleetDeps = Readonly<{ clock: Clock; staleAfterMs: number; offlineAfterMs: number }>

/** The state of a host, for boxes. */
type HostState = Readonly<{ id: HostId; name: string; status: 'online' | 'offline' | 'frozen' | 'revoked' }>

/** The hosts at one time, with the validity of reports. */
export type Fleet = Readonly<{
  staleBefore: string
  silentHosts: readonly HostId[]
  betweenHosts: readonly BoxId[]
  host(id: HostId): HostState | undefined
  freshness(box: Pick<BoxRecord, 'id' | 'hostId' | 'reportedAt' | 'removal'>): Freshness
}>

/** The state of one host; undefined when it does not exist. */
export async function readHost({ clock, offlineAfterMs }: FleetDeps, db: DbOrTx, id: HostId): Promise<HostState | undefined> {
  const [host] = await hostSummaries(db, id)
  return host && stateOf(host, clock.now(), offlineAfterMs)
}

function stateOf(host: HostSummary, now: Date, offlineAfterMs: number): HostState {
  const status = host.status === 'active' ? (isOffline(host, now, offlineAfterMs) ? 'offline' : 'online') : host.status
  return { id: host.id, name: host.name, status }
}

export async function readFleet({ clock, staleAfterMs, offlineAfterMs }: FleetDeps, db: DbOrTx): Promise<Fleet> {
  const now = clock.now()
  const states = (await hostSummaries(db)).map((host) => stateOf(host, now, offlineAfterMs))
  const byId = new Map(states.map((host) => [host.id, host]))
  const isOnline = (id: HostId) => byId.get(id)?.status === 'online'
  const betweenHosts = await boxesBetweenHosts(db)
  const moving = new Set(betweenHosts)
  return {
    staleBefore: new Date(now.getTime() - staleAfterMs).toISOString(),
    silentHosts: states.filter(({ status }) => status !== 'online').map(({ id }) => id),
    betweenHosts,
    host: (id) => byId.get(id),
    freshness: ({ id, hostId, reportedAt, removal }) => {
      const stopped = removal !== null || moving.has(id)
      return freshnessOf({ reportedAt, hostOnline: isOnline(hostId), stopped }, now.getTime(), staleAfterMs)
    },
  }
}

/** Data of a box from other tables. */
export type BoxContext = Readonly<{
  fleet: Fleet
  hold: BoxHold | undefined
  /** The latest move, also when it is finished. */
  move: Move | undefined
  status: BoxStatus
  setUpError: Command['error']
  reportAgeMs: number | null
}>

export async function readBoxContexts(
  deps: FleetDeps & Readonly<{ db: DbOrTx }>,
  boxes: readonly BoxRecord[],
  fleet: Fleet,
): Promise<(box: BoxRecord) => BoxContext> {
  const { db } = deps
  const { clock } = deps
  const ids: BoxId[] = boxes.map(({ id }) => id)
  const holds = await holdsOf(db, clock, ids)
  const moves = await latestMoves(db, ids)
  const restoring = await boxesBeingRestored(db, ids)
  const begun = boxes.filter(({ live }) => !live).map(({ setUp }) => setUp.commandId)
  const commands = new Map((await commandsByIds(db, begun)).map((command) => [command.id, command]))
  return (box) => {
    const command = commands.get(box.setUp.commandId)
    return {
      fleet,
      hold: holds.get(box.id),
      move: moves.get(box.id),
      status: statusOf(box, command, restoring.has(box.id)),
      setUpError: box.live ? null : (command?.error ?? null),
      reportAgeMs: box.reportedAt === null ? null : Math.max(0, elapsedMs(box.reportedAt, isoNow(clock))),
    }
  }
}

/** Boxes with an open restore of a snapshot: by an operator or by a rollback. */
async function boxesBeingRestored(db: DbOrTx, ids: readonly BoxId[]): Promise<ReadonlySet<string>> {
  const open = db.selectFrom('box_restores').select('box_id').where('status', 'in', ['open', 'unheard'])
  const rows = await open.where('box_id', 'in', ids.length > 0 ? ids : ['']).execute()
  return new Set(rows.map(({ box_id }) => box_id))
}

function statusOf({ live, removal }: BoxRecord, setUp: Command | undefined, isRestoring: boolean): BoxStatus {
  if (live) return isRestoring ? 'restoring' : 'ready'
  if (removal) return 'removed'
  return setUp && hasFailed(setUp) ? 'failed' : 'provisioning'
}

/** An expired command counts as failed; a late result is still accepted. */
const hasFailed = ({ status }: Pick<Command, 'status'>): boolean => status === 'failed' || status === 'expired'
