import { humanTime, type NewAlert, quoted } from '../../core/alerts/index.ts'
import type { BoxId, HostId } from '../../core/boxes/index.ts'
import { type Clock, isoIn, isoNow } from '../../core/kit/index.ts'
import { followCondition } from '../alerts/index.ts'
import { acquireLease, type Db } from '../db/index.ts'
import { type FleetDeps, readFleet } from './fleet.ts'

type Deps = FleetDeps & Readonly<{ db: Db; clock: Clock; owner: string }>

const leaseMs = 30_000
/** A restart or a slow start is no failure. */
const patienceMs = 2 * 60_000

/**
 * Raises `box_down` and `box_degraded` for open boxes whose last report says so for two minutes, and closes them. None while a person or a change
 * works on the box; those of a host that is offline stay, and no new one is raised: `host_offline` says it once.
 */
export async function watchHealth(deps: Deps): Promise<void> {
  const { db, clock, owner } = deps
  if (!(await acquireLease(deps, { name: 'boxes.health', owner, ttlMs: leaseMs }))) return
  const fleet = await readFleet(deps, db)
  const notRunning = await db
    .selectFrom('boxes')
    .select(['id', 'slug', 'host_id', 'reported_at', 'removal', 'health', 'health_why', 'health_since'])
    .where('health', 'in', ['down', 'degraded'])
    .where('health_since', '<=', isoIn(clock, -patienceMs))
    .where('live', '=', 1)
    .where('maintenance_since', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(selectFrom('box_holds').select('box_id').whereRef('box_holds.box_id', '=', 'boxes.id').where('until', '>', isoNow(clock))),
      ),
    )
    .orderBy('slug')
    .execute()
  const failing = notRunning.map((row) => ({
    slug: row.slug,
    host: fleet.host(row.host_id as HostId)?.name ?? row.host_id,
    state: row.health,
    why: row.health_why ?? '',
    since: row.health_since ?? '',
    isFresh:
      fleet.freshness({ id: row.id as BoxId, hostId: row.host_id as HostId, reportedAt: row.reported_at, removal: row.removal }) ===
      'fresh',
  }))
  const unknown = new Set(failing.filter(({ isFresh }) => !isFresh).map(({ slug }) => slug))
  const present = failing.filter(({ isFresh }) => isFresh)
  const because = 'the box serves its users again, or it is being changed'
  const inState = (state: 'down' | 'degraded') => present.filter((box) => box.state === state)
  const common = { name: 'chat', isUnknown: (slug: string) => unknown.has(slug), because }
  await followCondition(deps, { ...common, kind: 'box_down', present: inState('down').map(downAlert) })
  await followCondition(deps, { ...common, kind: 'box_degraded', present: inState('degraded').map(degradedAlert) })
}

type Failing = Readonly<{ slug: string; host: string; why: string; since: string }>
type Text = Omit<NewAlert, 'kind'>

const downAlert = ({ slug, host, why, since }: Failing): Text => ({
  subject: slug,
  title: `The chat of ${slug} is down`,
  body:
    `Since ${humanTime(since)}: ${quoted(why)}.\n` +
    `Users of ${slug} cannot read or write. Its host ${host} is online, and no operation works on the box. The logs of its services say why; ` +
    `\`tenantry boxes restart ${slug}\` starts it again.`,
  command: `tenantry boxes logs ${slug}`,
})

const degradedAlert = ({ slug, host, why, since }: Failing): Text => ({
  subject: slug,
  title: `${slug} works in part`,
  body:
    `Since ${humanTime(since)}: ${quoted(why)}.\n` +
    `Users of ${slug} can read and write; sending files may fail, or the chat stops for moments. Its host is ${host}.`,
  command: `tenantry boxes logs ${slug}`,
})
