import { humanTime, type NewAlert, quoted } from '../../core/alerts/index.ts'
import type { BoxId, HostId } from '../../core/boxes/index.ts'
import { type Clock, isoIn } from '../../core/kit/index.ts'
import { followCondition, openKeysOf } from '../alerts/index.ts'
import type { Db } from '../db/index.ts'
import type { LeasedLoop } from '../feature/index.ts'
import { holdsOf } from './box-holds.ts'
import { type FleetDeps, readFleet } from './fleet.ts'

type Deps = FleetDeps & Readonly<{ db: Db; clock: Clock }>

/** A restart or a slow start is no failure. */
const patienceMs = 2 * 60_000

/**
 * Raises `box_down` and `box_degraded` for open boxes that do not run for two minutes, by the state that lasts, and closes them. None while a person
 * or a change works on the box; those of a host that is offline stay, and no new one is raised: `host_offline` says it once.
 */
export const healthWatch = (deps: Deps): LeasedLoop => ({
  name: 'watch the health of boxes',
  everyMs: 10_000,
  lease: { name: 'boxes.health', ttlMs: 30_000 },
  run: () => watchHealth(deps),
})

async function watchHealth(deps: Deps): Promise<void> {
  const { db, clock } = deps
  const fleet = await readFleet(deps, db)
  const settledBefore = isoIn(clock, -patienceMs)
  const rows = await db
    .selectFrom('boxes')
    .select(['id', 'slug', 'host_id', 'reported_at', 'removal', 'health', 'health_why', 'health_since', 'failing_since'])
    .where('health', 'in', ['down', 'degraded'])
    .where('failing_since', '<=', settledBefore)
    .where('live', '=', 1)
    .where('maintenance_since', 'is', null)
    .orderBy('slug')
    .execute()
  const held = await holdsOf(
    db,
    clock,
    rows.map(({ id }) => id as BoxId),
  )
  const notRunning = rows.filter(({ id }) => !held.has(id as BoxId))
  const alertedDown = new Set((await openKeysOf(db, 'box_down')).map(({ subject }) => subject))
  const levelOf = ({ slug, health, health_since }: (typeof notRunning)[number]): Level => {
    const isDown = (health_since ?? '') <= settledBefore ? health === 'down' : alertedDown.has(slug)
    return isDown ? 'down' : 'degraded'
  }
  const failing = notRunning.map((row) => ({
    slug: row.slug,
    host: fleet.host(row.host_id as HostId)?.name ?? row.host_id,
    level: levelOf(row),
    why: row.health_why ?? '',
    since: row.failing_since ?? '',
    isFresh:
      fleet.freshness({ id: row.id as BoxId, hostId: row.host_id as HostId, reportedAt: row.reported_at, removal: row.removal }) ===
      'fresh',
  }))
  const unknown = new Set(failing.filter(({ isFresh }) => !isFresh).map(({ slug }) => slug))
  const present = failing.filter(({ isFresh }) => isFresh)
  const because = 'the box serves its users again, or it is being changed'
  const at = (level: Level) => present.filter((box) => box.level === level)
  const common = { name: 'chat', isUnknown: (slug: string) => unknown.has(slug), because }
  await followCondition(deps, { ...common, kind: 'box_down', present: at('down').map(downAlert) })
  await followCondition(deps, { ...common, kind: 'box_degraded', present: at('degraded').map(degradedAlert) })
}

/** A state that is younger than two minutes changes nothing: the alert stays, or what alternates is degraded. */
type Level = 'down' | 'degraded'
type Failing = Readonly<{ slug: string; host: string; why: string; since: string }>
type Text = Omit<NewAlert, 'kind'>

const downAlert = ({ slug, host, why, since }: Failing): Text => ({
  subject: slug,
  title: `The chat of ${slug} is down`,
  body:
    `Since ${humanTime(since)}: ${quoted(why)}.\n` +
    `Users of ${slug} cannot read or write. Its host ${host} is online, and no operation works on the box. The logs of its services say why; ` +
    `\`tenantry boxes restart ${slug} --reason <why>\` starts it again.`,
  command: `tenantry boxes logs ${slug}`,
})

const degradedAlert = ({ slug, host, why, since }: Failing): Text => ({
  subject: slug,
  title: `${slug} works in part`,
  body:
    `Since ${humanTime(since)}: ${quoted(why)}.\n` +
    `Users of ${slug} can read and write; sending files may fail, or the chat stops again and again. Its host is ${host}.`,
  command: `tenantry boxes logs ${slug}`,
})
