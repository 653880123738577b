import { problem } from '../../core/kit/index.ts'
import type { Context } from '../kit/index.ts'

/** The header of a login's own token; TENANTRY_TOKEN does not override it. */
export const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** How often the daemon is asked whether somebody approved the login. */
const everyMs = 2000

/** Logs in as the account that approves it in the web console, on any machine. Throws LOGIN_FAILED. */
export async function loginByBrowser({ api, logins, url, byToken, notify, clock, signal }: Context) {
  const { deviceCode, userCode, page, expiresAt } = await api.admin.beginCliLogin()
  notify(`Open this page, log in there and compare the code:\n\n  ${page}\n  code: ${userCode}\n`)
  for (;;) {
    await clock.sleep(everyMs, signal)
    signal.throwIfAborted()
    const { session } = await api.admin.finishCliLogin({ body: { deviceCode } })
    if (session) {
      await logins.save(url, { token: session.token, name: session.account.name, expiresAt: session.expiresAt })
      if (byToken) notify('TENANTRY_TOKEN is set and overrides this login until you unset it.')
      return api.admin.whoAmI({}, bearer(session.token))
    }
    if (clock.now().toISOString() > expiresAt)
      throw problem('LOGIN_FAILED', 'No account approved the login within ten minutes. fix: run `tenantry login --browser` again')
  }
}
