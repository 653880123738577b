import { type Fleet, startFleet } from './fleet.ts'
import { platformBehindEdge } from './platform-app.ts'

/** Response of a login. */
export type Session = Readonly<{
  token: string
  expiresIn: number
  matrixAccessToken: string
  matrixUserId: string
  homeserver: string
  refreshToken: string
}>

type Wanted = Readonly<{ slug: string; password: string; people: Readonly<Record<string, string>> }>

/** A tenant as operators make it: a daemon behind its nginx, an agent, a box, and `people` (name: role). Everything goes with `end()`. */
export async function aSchool(wanted: Wanted) {
  const fleet = await startFleet({ TENANTRY_TRUSTED_PROXIES: '127.0.0.1' })
  return furnish(fleet, wanted).catch(async (error) => {
    await fleet.end()
    throw error
  })
}

async function furnish(fleet: Fleet, { slug, password, people }: Wanted) {
  await fleet.applySynapse('1.163.2')
  const box = await fleet.provision(slug, 'light')
  const userIds = new Map<string, string>()
  for (const [name, role] of Object.entries(people)) userIds.set(name, await aUser(fleet, { slug, name, role, password }))
  const platform = await platformBehindEdge(fleet.url)
  const logIn = (username: string, given: Readonly<Record<string, unknown>> = {}) =>
    platform.ask<Session>('POST', '/api/auth/v1/login', {
      body: { tenant: slug, username, password, deviceName: `Phone of ${username}`, issueRefreshToken: true, ...given },
    })
  const end = async () => {
    await platform.close()
    await fleet.end()
  }
  return { fleet, box, platform, userIds, logIn, end }
}

type Person = Readonly<{ slug: string; name: string; role: string; password: string }>

/** Creates a user as an operator does. Returns its id. */
export async function aUser({ api }: Fleet, { slug, name, role, password }: Person): Promise<string> {
  const { user } = await api.users.createUser({ params: { slug }, body: { localpart: name, roles: [role], password } })
  return user.id
}
