// Tenants as schools are: users with their sessions, spaces that they are in, tasks that fall to them. Written past the verbs, which would take hours.
import { openSigningKeys } from '../dist/daemon/auth/index.js'
import { openDatabase } from '../dist/daemon/db/index.js'
import { loadKeyring } from '../dist/daemon/sealed/index.js'
import { systemClock, systemRandom } from '../dist/node/index.js'

const at = '2026-01-05T08:00:00.000Z'
const later = '2099-01-01T00:00:00.000Z'
const rowsAtOnce = 500

const idOf = (kind, tenant, n) => `${kind}_${String(tenant).padStart(8, '0')}${String(n).padStart(18, '0')}`
const slugOf = (tenant) => `school-${String(tenant).padStart(5, '0')}`
const nameOf = (user) => `user-${String(user).padStart(4, '0')}`
const numbers = (count) => Array.from({ length: count }, (_, n) => n)

/** Fills a migrated database. Answers the `Authorization` headers of all users, tenant by tenant. */
export async function seedSchools({ databaseUrl, dataDir }, { tenants, usersPerTenant, spacesPerUser, tasksPerUser }) {
  const { db, close } = openDatabase(databaseUrl)
  await db.transaction().execute(async (tx) => {
    const into = async (table, rows) => {
      for (let from = 0; from < rows.length; from += rowsAtOnce)
        await tx
          .insertInto(table)
          .values(rows.slice(from, from + rowsAtOnce))
          .execute()
    }
    await into('tenants', numbers(tenants).map(tenantRow))
    for (const tenant of numbers(tenants)) {
      const users = numbers(usersPerTenant)
      await into(
        'users',
        users.map((user) => userRow(tenant, user)),
      )
      await into(
        'sessions',
        users.map((user) => sessionRow(tenant, user)),
      )
      await into(
        'spaces',
        numbers(spacesPerUser).map((space) => spaceRow(tenant, space)),
      )
      await into(
        'space_members',
        users.flatMap((user) => numbers(spacesPerUser).map((space) => memberRow(tenant, user, space))),
      )
      await into(
        'tasks',
        users.flatMap((user) => numbers(tasksPerUser).map((task) => taskRow(tenant, user, user * tasksPerUser + task))),
      )
    }
  })
  const deps = {
    db,
    clock: systemClock,
    random: systemRandom,
    keyring: await loadKeyring({ random: systemRandom }, { dataDir, production: false }),
  }
  const keys = await openSigningKeys(deps, 'platform')
  const headers = []
  for (const tenant of numbers(tenants)) for (const user of numbers(usersPerTenant)) headers.push(await authorization(keys, tenant, user))
  await close()
  return headers
}

async function authorization(keys, tenant, user) {
  const claims = { sub: `@${nameOf(user)}:chat.${slugOf(tenant)}.example`, tid: idOf('ten', tenant, 0), fam: idOf('ses', tenant, user) }
  return `Bearer ${(await keys.sign(claims, 24 * 60 * 60_000)).token}`
}

const tenantRow = (tenant) => ({
  id: idOf('ten', tenant, 0),
  slug: slugOf(tenant),
  chat_domain: `chat.${slugOf(tenant)}.example`,
  name: `School number ${tenant}`,
  plan: 'dedicated',
  status: 'active',
  feature_flags: JSON.stringify({ newCalendar: true, boards: true, parentLetters: false }),
  created_at: at,
  updated_at: at,
})

const userRow = (tenant, user) => ({
  id: idOf('usr', tenant, user),
  tenant_id: idOf('ten', tenant, 0),
  localpart: nameOf(user),
  display_name: `Person Number ${user}`,
  locale: 'de',
  avatar_url: null,
  roles: JSON.stringify(['teacher']),
  status: 'active',
  created_at: at,
  updated_at: at,
})

const sessionRow = (tenant, user) => ({
  id: idOf('ses', tenant, user),
  tenant_id: idOf('ten', tenant, 0),
  user_id: idOf('usr', tenant, user),
  device_name: 'Phone',
  network: '192.0.2.0/24',
  created_at: at,
  used_at: at,
  expires_at: later,
})

const spaceRow = (tenant, space) => ({
  id: idOf('spc', tenant, space),
  tenant_id: idOf('ten', tenant, 0),
  name: `Class ${space + 1}b`,
  type: 'CLASSROOM',
  visibility: 'PRIVATE',
  revision: 1,
  chat_revision: 1,
  created_by: idOf('usr', tenant, 0),
  created_at: at,
  updated_at: at,
})

const memberRow = (tenant, user, space) => ({
  space_id: idOf('spc', tenant, space),
  user_id: idOf('usr', tenant, user),
  tenant_id: idOf('ten', tenant, 0),
  role: 'member',
  joined_at: at,
})

const taskRow = (tenant, user, task) => ({
  id: idOf('tsk', tenant, task),
  tenant_id: idOf('ten', tenant, 0),
  title: `Write the letter to parents, number ${task}`,
  status: 'open',
  assignee_id: idOf('usr', tenant, user),
  due_at: later,
  escalation_level: 0,
  created_at: at,
  updated_at: at,
})
