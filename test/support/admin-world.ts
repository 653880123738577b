import { type AdminActor, type ManualClock, manualClock } from '../../src/core/kit/index.ts'
import { createAccountWithPassword } from '../../src/daemon/admin/accounts.ts'
import { type AdminDeps, authenticateAdmin, consoleAccess } from '../../src/daemon/admin/index.ts'
import { login } from '../../src/daemon/admin/login.ts'
import { openSigningKeys } from '../../src/daemon/auth/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { keyring } from '../../src/daemon/sealed/index.ts'
import { systemRandom } from '../../src/node/index.ts'
import { watchedRevocations } from './loops.ts'

export const aKeyring = (fill = 1) => keyring([Buffer.alloc(32, fill).toString('base64')])
export const aPassword = 'correct horse battery staple'

export type AdminWorld = AdminDeps & Readonly<{ clock: ManualClock; authenticate: ReturnType<typeof authenticateAdmin>; stop: () => void }>

/** One replica of the admin feature over a database, with its own caches; a second call over the same database is a second replica. */
export async function anAdminWorld(
  db: Db,
  { totpRequired = false, clock = manualClock() }: { totpRequired?: boolean; clock?: ManualClock } = {},
): Promise<AdminWorld> {
  const abort = new AbortController()
  const base = { db, clock, random: systemRandom, keyring: aKeyring() }
  const baseUrl = 'http://127.0.0.1:8440'
  const keys = await openSigningKeys(base, 'admin')
  const revocations = await watchedRevocations({ db, clock }, abort.signal)
  const deps = { ...base, keys, revocations, totpRequired, console: consoleAccess(baseUrl), baseUrl }
  return { ...deps, clock, authenticate: authenticateAdmin(deps), stop: () => abort.abort() }
}

export const anAccount = (room: AdminWorld, name = 'anna', role: AdminActor['role'] = 'admin') =>
  createAccountWithPassword(room, { kind: 'system', name: 'test' }, { name, role, password: aPassword })

/** Logs in and returns the actor. */
export async function aSession(room: AdminWorld, name = 'anna', address = '192.0.2.1') {
  const { token } = await login(room, { name, password: aPassword, address })
  const actor = (await room.authenticate(`Bearer ${token}`, { setup: true })) as AdminActor
  return { token, actor, authorization: `Bearer ${token}` }
}
