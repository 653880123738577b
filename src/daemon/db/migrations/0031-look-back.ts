import { type Kysely, sql } from 'kysely'
import type { Migration } from './migration.ts'

const atOnce = 500

/** Makes what was stored before a rule came as that rule would have stored it: who is told of users, and who was given which password when. */
export const lookBack: Migration = {
  name: '0031-look-back',
  async up(db) {
    for (let last: Place | undefined = ['', 0]; last; ) last = await narrowSome(db, last)
    for (let last: number | undefined = 0; last !== undefined; ) last = await dateSome(db, last)
  },
}

type Place = readonly [stream: string, seq: number]
type Told = { stream: string; seq: number; event_type: string; payload: string }

const ofContacts = ['user.created', 'user.enabled', 'user.disabled', 'user.roles_changed', 'user.contact_changed']

/**
 * What was once told to the whole tenant is told on replay to who sees the user for sure: the user, members of the same spaces, who reads all
 * contacts. Which roles are listed for all is not in the database: who sees a user by that alone does not hear again of what is stored.
 */
async function narrowSome(db: Kysely<unknown>, [stream, seq]: Place): Promise<Place | undefined> {
  const { rows } = await sql<Told>`select stream, seq, event_type, payload from events
    where audience = '"tenant"' and event_type in (${sql.join([...ofContacts, 'user.profile_changed'])})
      and (stream, seq) > (${stream}, ${seq}) order by stream, seq limit ${atOnce}`.execute(db)
  const told = rows.map((row) => ({ ...row, userId: String(JSON.parse(row.payload).userId) }))
  const spaces = await spacesOf(db, [...new Set(told.map(({ userId }) => userId))])
  for (const { userId, ...event } of told) {
    const others = { capability: 'readContacts', ...(spaces.has(userId) ? { spaces: spaces.get(userId) } : {}) }
    const audience = JSON.stringify({ users: [userId], ...(event.event_type === 'user.profile_changed' ? {} : others) })
    await sql`update events set audience = ${audience} where stream = ${event.stream} and seq = ${event.seq}`.execute(db)
  }
  const last = rows.at(-1)
  return last && [last.stream, Number(last.seq)]
}

async function spacesOf(db: Kysely<unknown>, userIds: readonly string[]): Promise<Map<string, string[]>> {
  const spaces = new Map<string, string[]>()
  if (userIds.length === 0) return spaces
  const { rows } = await sql<{ user_id: string; space_id: string }>`select user_id, space_id from space_members
    where user_id in (${sql.join(userIds)}) order by space_id`.execute(db)
  for (const { user_id, space_id } of rows) spaces.set(user_id, [...(spaces.get(user_id) ?? []), space_id])
  return spaces
}

type Act = { seq: number; at: string; subject: string }

/** When users were given passwords was in the audit log alone: the last of each counts, unless the user is another of the same name. */
async function dateSome(db: Kysely<unknown>, after: number): Promise<number | undefined> {
  const { rows } = await sql<Act>`select seq, at, subject from audit where chain = 'admin' and seq > ${after}
    and action in ('user.password-changed', 'user.password-reset') and subject is not null order by seq limit ${atOnce}`.execute(db)
  const set = [...new Map(rows.map(({ subject, at }) => [subject, at]))].map(([subject, at]) => {
    const slash = subject.indexOf('/')
    return sql`(${subject.slice(0, slash)}, ${subject.slice(slash + 1)}, ${at})`
  })
  if (set.length > 0)
    await sql`insert into user_passwords (user_id, tenant_id, set_at)
      select users.id, users.tenant_id, v.column3 from (values ${sql.join(set)}) as v
      inner join tenants on tenants.slug = v.column1
      inner join users on users.tenant_id = tenants.id and users.localpart = v.column2
      where users.created_at <= v.column3
      on conflict (user_id) do update set set_at = excluded.set_at where user_passwords.set_at < excluded.set_at`.execute(db)
  const last = rows.at(-1)
  return last && Number(last.seq)
}
