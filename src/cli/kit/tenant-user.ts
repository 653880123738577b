import { problem } from '../../core/kit/index.ts'
import type { StoredUser } from './connection.ts'
import type { Context } from './context.ts'

/** The login of a user of a tenant; that of an operator does not count. Throws USAGE. */
export async function tenantUser({ clock, logins, url }: Pick<Context, 'clock' | 'logins' | 'url'>): Promise<StoredUser> {
  const login = await logins.userAt(url)
  if (!login || login.expiresAt <= clock.now().toISOString())
    throw problem('USAGE', `No user of a tenant is logged in to ${url}. fix: tenantry login --tenant ${login?.tenant ?? '<slug>'}`)
  return login
}

/** The header of a user's own token; TENANTRY_TOKEN does not override it. */
export const bearerOf = ({ token }: Pick<StoredUser, 'token'>): Readonly<{ authorization: string }> => ({
  authorization: `Bearer ${token}`,
})
