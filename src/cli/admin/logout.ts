import { isProblem } from '../../core/kit/index.ts'
import { command } from '../kit/index.ts'
import { bearer } from './login.ts'

export const logout = command(
  'logout',
  'End the session of the last login, here and on the daemon',
  {},
  async ({ api, logins, url }) => {
    const stored = await logins.at(url)
    if (!stored) return { url, ended: false }
    await api.admin.logout({}, bearer(stored.token)).catch((error: unknown) => {
      // A session that ended by itself leaves nothing to end.
      if (!isProblem(error, 'UNAUTHENTICATED')) throw error
    })
    await logins.forget(url)
    return { url, ended: true }
  },
  ({ url, ended }) => (ended ? `Logged out of ${url}.` : `There was no login at ${url}.`),
)
