import type { SetupStep } from '../../core/admin/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import { type Context, clean, command, fields, flag, readSecretLines, sections, stamp, text } from '../kit/index.ts'
import { loginAsUser } from './login-user.ts'

export const login = command('login', 'Log in interactively', {
  options: {
    name: text('--name <name>', 'account name (default: prompt)'),
    passwordFile: text('--password-file <file>', 'file with the password on line 1 and a new one on line 2 (- is stdin)'),
    totp: text('--totp <code>', 'one-time or recovery code (default: prompt)'),
    tenant: text('--tenant <slug|url>', 'log in as a user of this tenant'),
    browser: flag('--browser', 'approve the login in a browser, as with a company account'),
  },
  run: async (context, { name: nameOption, passwordFile, totp, tenant, browser }) => {
    if (tenant !== undefined) return loginAsUser(context, { tenant, name: nameOption, passwordFile })
    if (browser) return loginByBrowser(context)
    const { api, ask, logins, url, byToken, notify } = context
    const name = nameOption ?? (await ask.text('Name', 'pass --name or set TENANTRY_TOKEN'))
    const [password, newPassword] = passwordFile
      ? await readSecretLines(context, passwordFile, 'password')
      : [await ask.password('Password', 'pass --password-file or set TENANTRY_TOKEN')]
    const session = await openSession(context, { name, password, totp })
    await logins.save(url, { token: session.token, name: session.account.name, expiresAt: session.expiresAt })
    await setUpSession(context, session, { password, newPassword: newPassword || undefined })
    if (byToken) notify('TENANTRY_TOKEN is set and overrides this login until you unset it.')
    return api.admin.whoAmI({}, bearer(session.token))
  },
  view: (result, { paint, now }) => {
    const who =
      'user' in result ? `${clean(result.user)} (tenant ${clean(result.tenant)})` : `${clean(result.account.name)} (${result.account.role})`
    return `${paint.green('Logged in')} as ${who}; the session expires ${stamp(result.expiresAt, now)}.`
  },
  examples: ['login', 'login --browser', 'login --tenant linden --name anna'],
})

type Credentials = Readonly<{ name: string; password: string; totp: string | undefined }>

/** Retries with a one-time code if the account requires one. */
async function openSession({ api, ask }: Context, { name, password, totp }: Credentials) {
  const attempt = (code: string | undefined) => api.admin.login({ body: { name, password, ...(code ? { totp: code } : {}) } })
  try {
    return await attempt(totp)
  } catch (error) {
    if (totp || !isProblem(error, 'TOTP_REQUIRED')) throw error
    return attempt(await ask.text('One-time or recovery code', 'pass --totp'))
  }
}

type NewSession = Readonly<{ token: string; setup: readonly SetupStep[] }>
type Passwords = Readonly<{ password: string; newPassword: string | undefined }>

/** Completes the setup of a new account: its own password, one-time codes. */
async function setUpSession(context: Context, { token, setup }: NewSession, { password, newPassword }: Passwords): Promise<void> {
  let current = password
  if (setup.includes('password')) current = await changePassword(context, token, { password, newPassword })
  if (setup.includes('totp')) await enrolTotp(context, token, current)
}

async function changePassword({ api, ask, notify }: Context, token: string, { password, newPassword }: Passwords): Promise<string> {
  if (newPassword === undefined) notify('This password is valid for one login. Choose a new one of at least 12 characters.')
  const chosen = newPassword ?? (await chooseNewPassword(ask, notify, password))
  await api.admin.changePassword({ body: { currentPassword: password, newPassword: chosen } }, bearer(token))
  return chosen
}

async function chooseNewPassword(ask: Context['ask'], notify: Context['notify'], current: string): Promise<string> {
  const [{ NewPassword }, { promptNewPassword }] = await Promise.all([
    import('../../core/admin/index.ts'),
    import('../../node/new-password.ts'),
  ])
  return promptNewPassword({
    prompt: (message) => ask.password(message, 'put it on line 2 of the --password-file'),
    reasonAgainst: (text) =>
      text === current ? 'must differ from the current password' : NewPassword.safeParse(text).error?.issues[0]?.message,
    notify,
  })
}

async function enrolTotp(context: Context, token: string, password: string): Promise<void> {
  const { api, notify } = context
  const { uri, secret } = await api.admin.enrolTotp({ body: { password } }, bearer(token))
  notify(
    `\nYour role requires one-time codes. Add this to an authenticator app now; it is not shown again.\n\n  ${uri}\n\n  manual entry: ${secret}\n`,
  )
  const recoveryCodes = await confirmCode(context, token)
  const listed = recoveryCodes.map((recovery) => `  ${recovery}`).join('\n')
  notify(
    `\nRecovery codes (each valid for one login without the app). Save them away from the app; they are not shown again.\n\n${listed}\n`,
  )
}

/** Prompts until the code is right: a failure here would end a login whose one-time password is used up. */
async function confirmCode(context: Context, token: string): Promise<readonly string[]> {
  const { api, ask, notify } = context
  for (;;) {
    const totp = await ask.text('Code from the app', 'run tenantry login on a terminal')
    try {
      return (await api.admin.confirmTotp({ body: { totp } }, bearer(token))).recoveryCodes
    } catch (error) {
      if (!isProblem(error, 'LOGIN_FAILED') && !isProblem(error, 'VALIDATION')) throw error
      notify('The code is wrong. Check the clock of the phone, and enter the next code.')
    }
  }
}

export const logout = command('logout', 'Log out and end the session on the daemon', {
  options: { tenant: flag('--tenant', 'log out the user of a tenant') },
  run: async ({ api, logins, url }, { tenant }) => {
    if (tenant) return logoutUser({ api, logins, url })
    const stored = await logins.at(url)
    if (!stored) return { url, ended: false }
    await api.admin.logout({}, bearer(stored.token)).catch((error: unknown) => {
      // An expired session needs no logout.
      if (!isProblem(error, 'UNAUTHENTICATED')) throw error
    })
    await logins.forget(url)
    return { url, ended: true }
  },
  view: ({ url, ended }) => (ended ? `Logged out of ${url}.` : `Not logged in to ${url}.`),
})

async function logoutUser({ api, logins, url }: Pick<Context, 'api' | 'logins' | 'url'>) {
  const stored = await logins.userAt(url)
  if (!stored) return { url, ended: false }
  await api.sessions.userLogout({ body: {} }, bearer(stored.token)).catch((error: unknown) => {
    if (!isProblem(error, 'UNAUTHENTICATED')) throw error
  })
  await logins.forgetUser(url)
  return { url, ended: true }
}

export const whoAmI = command('whoami', 'Show current identity and session expiry', {
  run: ({ api }) => api.admin.whoAmI(),
  view: ({ account, token, expiresAt, setup, totp }, style) =>
    sections(
      fields(style, [
        ['account', style.paint.bold(clean(account.name))],
        ['role', account.role],
        ['via', token ? `API token ${clean(token.name)}` : 'login'],
        ['expires', stamp(expiresAt, style.now)],
        ['one-time codes', token ? undefined : totp ? 'on' : 'off'],
      ]),
      setup.length > 0 ? style.paint.yellow(`Account setup incomplete (${setup.join(', ')}): tenantry login`) : '',
    ),
})

/** The header of a login's own token; TENANTRY_TOKEN does not override it. */
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** How often the daemon is asked whether somebody approved the login. */
const everyMs = 2000

/** Logs in as the account that approves it in the web console, on any machine. Throws LOGIN_FAILED. */
async function loginByBrowser({ api, logins, url, byToken, notify, clock, signal }: Context) {
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
