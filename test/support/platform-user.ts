import { type Clock, isoIn, isoNow, newId } from '../../src/core/kit/index.ts'
import { openSigningKeys } from '../../src/daemon/auth/index.ts'
import { openDatabase } from '../../src/daemon/db/index.ts'
import { loadKeyring } from '../../src/daemon/sealed/index.ts'
import { insertRefreshToken, insertSession, newRefreshToken } from '../../src/daemon/sessions/sessions.repo.ts'
import { insertUser } from '../../src/daemon/users/users.repo.ts'
import { systemClock, systemRandom } from '../../src/node/index.ts'
import type { RunningDaemon } from './running-daemon.ts'

type Given = Readonly<{ tenant: string; localpart?: string; roles?: readonly string[]; clock?: Clock; tokenMs?: number }>

/** The `Authorization` header of a tenant's user, as after a login. */
export const aPlatformUser = async (daemon: RunningDaemon, given: Given): Promise<string> =>
  `Bearer ${(await aPlatformSession(daemon, given)).token}`

/** The tokens of a tenant's user, as after a login, without a chat server. Creates tenant and user if they are missing. */
export async function aPlatformSession(
  { config }: RunningDaemon,
  { tenant, localpart = 'anna', roles = ['member'], clock = systemClock, tokenMs = 60 * 60_000 }: Given,
) {
  const { db, close } = openDatabase(config.databaseUrl)
  const deps = { db, clock, random: systemRandom, keyring: await loadKeyring({ random: systemRandom }, config) }
  const [now, chatDomain] = [isoNow(clock), `chat.${tenant}.example`]
  const refreshToken = newRefreshToken(systemRandom)
  const [id, fam] = [newId(systemRandom, 'usr'), newId(systemRandom, 'ses')]
  const tenantId = await db.transaction().execute(async (tx) => {
    const plain = { slug: tenant, name: tenant, plan: 'light', status: 'active', time_zone: null, maintenance_window: null } as const
    await tx
      .insertInto('tenants')
      .values({ id: newId(systemRandom, 'ten'), chat_domain: chatDomain, created_at: now, ...plain } as never)
      .onConflict((c) => c.column('slug').doNothing())
      .execute()
    const { id: found } = await tx.selectFrom('tenants').select('id').where('slug', '=', tenant).executeTakeFirstOrThrow()
    const rest = { displayName: null, locale: null, avatarUrl: null, status: 'active', createdAt: now, updatedAt: now } as const
    await insertUser(tx, { id: id as never, tenantId: found as never, localpart, roles, ...rest })
    const user = await tx
      .selectFrom('users')
      .select('id')
      .where('tenant_id', '=', found)
      .where('localpart', '=', localpart)
      .executeTakeFirstOrThrow()
    const expiresAt = isoIn(clock, 24 * 60 * 60_000)
    await insertSession(tx, now, { id: fam, tenantId: found, userId: user.id, deviceName: 'Test', network: '127.0.0.0/24', expiresAt })
    const first = { token: refreshToken, sessionId: fam, sessionExpiresAt: expiresAt, parentHash: null, rules: config.sessions }
    await insertRefreshToken(tx, now, first)
    return found
  })
  const keys = await openSigningKeys(deps, 'platform')
  const { token } = await keys.sign({ sub: `@${localpart}:${chatDomain}`, tid: tenantId, fam }, tokenMs)
  await close()
  return { token, refreshToken }
}
