import { isInPlace, type VersionsReport } from '../../core/boxes/index.ts'
import { isOffline } from '../../core/hosts/index.ts'
import type { KnownBox } from '../../core/rollouts/index.ts'
import { windowInForce } from '../../core/windows/index.ts'
import { type BoxRecord, boxBySlug, boxesInScope, holdsOf, upgradeRehearsals } from '../boxes/index.ts'
import type { DbOrTx } from '../db/index.ts'
import { allHosts, type Host, hostById } from '../hosts/index.ts'
import type { RolloutsDeps } from './deps.ts'

type Deps = Pick<RolloutsDeps, 'clock' | 'offlineAfterMs' | 'windows'>

type KnownHost = Pick<KnownBox, 'hostName' | 'hostOnline' | 'protocolVersion' | 'clockOffsetMs'>

type Beside = Readonly<{ heldBy: string | null; host: KnownHost; rehearsal: KnownBox['rehearsal'] | undefined }>

const known = ({ windows }: Deps, box: BoxRecord, { heldBy, host, rehearsal = null }: Beside): KnownBox => ({
  ...host,
  slug: box.slug,
  boxId: box.id,
  ownershipEpoch: box.ownershipEpoch,
  hostId: box.hostId,
  tier: box.tier,
  managed: box.managed,
  inPlace: isInPlace(box),
  canary: box.canary,
  databaseBytes: box.databaseBytes,
  installed: box.installed,
  report: box.report,
  reportedAt: box.reportedAt,
  probe: box.probe,
  rehearsal,
  window: windowInForce(windows, box.tier, box.ownWindow),
  heldBy,
})

const unknownHost = (hostId: string): KnownHost => ({
  hostName: hostId,
  hostOnline: false,
  protocolVersion: null,
  clockOffsetMs: null,
})

const knownHost = ({ clock, offlineAfterMs }: Deps, host: Host): KnownHost => {
  const { name, status, protocolVersion, clockOffsetMs } = host
  const hostOnline = status === 'active' && !isOffline(host, clock.now(), offlineAfterMs)
  return { hostName: name, hostOnline, protocolVersion, clockOffsetMs }
}

/** Every live box with its host's state and its hold. */
export async function knownBoxes(deps: Deps, db: DbOrTx): Promise<KnownBox[]> {
  const boxes = await boxesInScope(db)
  const hosts = new Map((await allHosts(db)).map((host) => [host.id, knownHost(deps, host)]))
  const holds = await holdsOf(db, deps.clock)
  const rehearsals = await upgradeRehearsals(db)
  return boxes.map((box) =>
    known(deps, box, {
      heldBy: holds.get(box.id)?.holder ?? null,
      host: hosts.get(box.hostId) ?? unknownHost(box.hostId),
      rehearsal: rehearsals.get(box.id),
    }),
  )
}

/** One live box as it is now; undefined when it has none. */
export async function knownBox(deps: Deps, db: DbOrTx, slug: string): Promise<KnownBox | undefined> {
  const box = await boxBySlug(db, slug)
  if (!box?.live) return undefined
  const hold = (await holdsOf(db, deps.clock, [box.id])).get(box.id)
  const rehearsal = (await upgradeRehearsals(db, box.id)).get(box.id)
  return known(deps, box, { heldBy: hold?.holder ?? null, host: knownHost(deps, await hostById(db, box.hostId)), rehearsal })
}

/** A box that has just reported and is on hold for the rollout: the report replaces what was stored of it. */
export const observedBox = (box: KnownBox, report: VersionsReport, now: string): KnownBox => ({
  ...box,
  installed: report.installed,
  report,
  reportedAt: now,
  databaseBytes: report.databaseBytes ?? box.databaseBytes,
  hostOnline: true,
  heldBy: null,
  managed: box.managed && report.managed,
})
