import { alertKey, humanTime, type NewAlert } from '../../core/alerts/index.ts'
import {
  type DiskSample,
  fullAt,
  type HostResources,
  isDiskShort,
  isDiskUrgent,
  isOffline,
  isSkewed,
  withSample,
} from '../../core/hosts/index.ts'
import { bytesText, type Clock, duration, isoNow, plural } from '../../core/kit/index.ts'
import { followCondition, openKeysOf } from '../alerts/index.ts'
import type { Db } from '../db/index.ts'
import type { LeasedLoop } from '../feature/index.ts'
import { leaseAge } from './sweep-commands.ts'

type Deps = Readonly<{ db: Db; clock: Clock }>
type Text = Omit<NewAlert, 'kind'>

/** A restart of the agent or of its network is no failure. */
const silentMs = 2 * 60_000
/** A minute with a hundred boxes that all hang, several times over. */
const uncheckedMs = 10 * 60_000

/**
 * Raises `host_offline`, `boxes_unchecked`, `disk_low` and `clock_skew`, and closes them. Silence counts only while this daemon listens: after its own downtime no
 * host has called for a while.
 */
export function hostWatch(deps: Deps): LeasedLoop {
  const listenedMs = leaseAge(deps.clock)
  return {
    name: 'watch hosts',
    everyMs: 10_000,
    lease: { name: 'hosts.watch', ttlMs: 30_000 },
    run: ({ lease }) => watchHosts(deps, listenedMs(lease) >= silentMs),
  }
}

async function watchHosts(deps: Deps, hasListened: boolean): Promise<void> {
  const now = deps.clock.now()
  const hosts = (await activeHosts(deps.db)).map((host) => ({ ...host, isSilent: isOffline(host, now, silentMs) }))
  const connected = hosts.filter(({ isSilent }) => !isSilent)
  const silentNames = new Set(hosts.filter(({ isSilent }) => isSilent).map(({ name }) => name))
  const isUnknown = (name: string) => silentNames.has(name)
  const silent = hasListened ? hosts.filter(({ isSilent, lastSeenAt }) => isSilent && lastSeenAt !== null) : []
  await followCondition(deps, {
    ...{ kind: 'host_offline', name: 'silent', present: silent.map(offlineAlert), because: 'its agent is back, or the host was revoked' },
    isUnknown: (name) => !hasListened && silentNames.has(name),
  })
  const unchecked = connected.filter((host) => isUnchecked(host, now)).map(uncheckedAlert)
  const checks = { kind: 'boxes_unchecked', name: 'checks', because: 'the agent checks its boxes again' } as const
  await followCondition(deps, { ...checks, present: unchecked, isUnknown })
  const skewed = connected.filter(isSkewed).map(skewAlert)
  await followCondition(deps, { kind: 'clock_skew', name: 'clock', present: skewed, isUnknown, because: 'the clock is right again' })
  const short = await hostsShortOfDisk(deps, connected)
  const disk = { kind: 'disk_low', isUnknown } as const
  const [urgent, low] = [short.filter(({ severity }) => severity === 'critical'), short.filter(({ severity }) => severity === 'warning')]
  await followCondition(deps, { ...disk, name: 'urgent', present: urgent, because: 'there is more free space again' })
  const because = 'there is enough free space again, or so little that it is an alert of its own'
  await followCondition(deps, { ...disk, name: 'disk', present: low, because })
}

type Watched = Readonly<{
  id: string
  name: string
  lastSeenAt: string | null
  clockOffsetMs: number | null
  resources: HostResources | null
  samples: readonly DiskSample[]
}>

/** The time of the last checks is of the clock of the host. */
const isUnchecked = ({ resources, clockOffsetMs }: Watched, now: Date): boolean => {
  const since = resources?.checkedAt ?? resources?.uncheckedSince
  return since !== undefined && now.getTime() + (clockOffsetMs ?? 0) - Date.parse(since) > uncheckedMs
}

async function activeHosts(db: Db): Promise<Watched[]> {
  const columns = ['id', 'name', 'last_seen_at', 'clock_offset_ms', 'resources', 'disk_samples'] as const
  const rows = await db.selectFrom('hosts').select(columns).where('status', '=', 'active').orderBy('name').execute()
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    lastSeenAt: row.last_seen_at,
    clockOffsetMs: row.clock_offset_ms === null ? null : Number(row.clock_offset_ms),
    resources: row.resources === null ? null : JSON.parse(row.resources),
    samples: row.disk_samples === null ? [] : JSON.parse(row.disk_samples),
  }))
}

/** Also stores the sample of this hour. */
async function hostsShortOfDisk({ db, clock }: Deps, hosts: readonly Watched[]): Promise<Text[]> {
  const now = clock.now()
  const open = await openKeysOf(db, 'disk_low')
  const alerted = new Set(open.map(({ subject }) => subject))
  const urgent = new Set(open.flatMap(({ subject, key }) => (key === alertKey('disk_low', `urgent:${subject}`) ? subject : [])))
  const short: Text[] = []
  for (const { id, name, resources, samples } of hosts) {
    if (!resources) continue
    const kept = withSample(samples, { at: isoNow(clock), freeBytes: resources.freeDiskBytes, diskBytes: resources.diskBytes })
    if (kept !== samples)
      await db
        .updateTable('hosts')
        .set({ disk_samples: JSON.stringify(kept) })
        .where('id', '=', id)
        .execute()
    const full = fullAt(kept, resources, now)
    const disk = { resources, fullAt: full, now }
    const severity = isDiskUrgent({ ...disk, isAlerted: urgent.has(name) }) ? 'critical' : 'warning'
    if (isDiskShort({ ...disk, isAlerted: alerted.has(name) })) short.push({ ...diskAlert(name, resources, full), severity })
  }
  return short
}

const offlineAlert = ({ name, lastSeenAt, resources }: Watched): Text => ({
  subject: name,
  ...(resources?.boxes === 0 ? { severity: 'warning' as const } : {}),
  title: `Host ${name} is silent`,
  body:
    `The agent of ${name} last connected ${humanTime(lastSeenAt ?? '')}. ` +
    `Whether the chats of its ${plural(resources?.boxes ?? 0, 'box', 'boxes')} run is not known: look at the machine and its network first.\n` +
    `If the machine runs and its boxes serve, only the agent is down (\`systemctl status tenantry-agent\`). If it is lost, its boxes can be moved ` +
    `to another host from their last snapshots (\`tenantry boxes move <slug> --to <host> --old-host-is-dead ${name}\`).`,
  command: `tenantry hosts show ${name}`,
})

const uncheckedAlert = ({ name, resources }: Watched): Text => ({
  subject: name,
  title: `The boxes of host ${name} cannot be checked`,
  body:
    `Its agent is connected, and has not checked every box since ${humanTime(resources?.checkedAt ?? resources?.uncheckedSince ?? '')}: most likely the container engine does not ` +
    'answer. Whether the chats run is not known, and lists show their last state. No box can be updated, restored or moved.\n' +
    'Look on the machine (`tenantry-agent doctor`, `systemctl status docker`), and start the engine.',
  command: `tenantry hosts show ${name}`,
})

const skewAlert = ({ name, clockOffsetMs }: Watched): Text => ({
  subject: name,
  title: `The clock of host ${name} is ${duration(Math.abs(clockOffsetMs ?? 0))} ${(clockOffsetMs ?? 0) > 0 ? 'ahead' : 'behind'}`,
  body:
    'Messages of its boxes carry wrong times, and tokens and certificates may be refused. Plans block its boxes.\n' +
    'Set up time synchronisation on the machine (`timedatectl status`).',
  command: `tenantry hosts show ${name}`,
})

const diskAlert = (name: string, { diskBytes, freeDiskBytes, diskPath }: HostResources, full: Date | undefined): Text => ({
  subject: name,
  title: `Host ${name} has ${bytesText(freeDiskBytes)} of disk left`,
  body:
    `${Math.round((freeDiskBytes / diskBytes) * 100)} % of ${bytesText(diskBytes)} are free${diskPath === undefined ? '' : ` at ${diskPath}`}. ` +
    `${full ? `At the rate of the last days the disk is full on ${humanTime(full.toISOString()).slice(0, 10)}.` : 'It does not fill at the moment.'}\n` +
    'A full disk stops every box of the host, and pulls and restores need space first. Remove what is not of boxes, move a box to another host, ' +
    'or enlarge the disk.',
  command: `tenantry hosts show ${name}`,
})
