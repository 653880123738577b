import type { SetupStep } from '../../core/admin/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import { type Context, clean, command, fields, readTextFile, sections, stamp, text } from '../kit/index.ts'

export const login = command(
  'login',
  'Log in as a person; asks for name, password and one-time code',
  {
    name: text('--name <name>', 'the account, instead of being asked'),
    passwordFile: text(
      '--password-file <file>',
      'the password on its first line (- is stdin); a new one, where one must be set, on the second',
    ),
    totp: text('--totp <code>', 'the one-time or recovery code, instead of being asked'),
  },
  async (context, { name: given, passwordFile, totp }) => {
    const { api, ask, logins, url, byToken, notify } = context
    const name = given ?? (await ask.text('Name', 'give --name, or use TENANTRY_TOKEN'))
    const [password, newPassword] = passwordFile
      ? await passwordsIn(context, passwordFile)
      : [await ask.password('Password', 'give --password-file, or use TENANTRY_TOKEN')]
    const session = await opened(context, { name, password, totp })
    await logins.keep(url, { token: session.token, name: session.account.name, expiresAt: session.expiresAt })
    await setUpSession(context, session, { password, newPassword })
    if (byToken) notify('TENANTRY_TOKEN is set and wins over this login until you unset it.')
    return api.admin.whoAmI({}, bearer(session.token))
  },
  ({ account, expiresAt }, { paint, now }) =>
    `${paint.green('Logged in')} as ${clean(account.name)}, ${account.role}, until ${stamp(expiresAt, now)}.`,
)

/** This login's own token, whatever TENANTRY_TOKEN says. */
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

async function passwordsIn({ readStdin }: Context, file: string): Promise<[string, string | undefined]> {
  const [password = '', newPassword] = (file === '-' ? await readStdin() : await readTextFile(file)).split(/\r?\n/)
  if (password === '') throw problem('USAGE', `${file} has no password on its first line`)
  return [password, newPassword || undefined]
}

type Credentials = Readonly<{ name: string; password: string; totp: string | undefined }>

/** A second try with a one-time code where the account has one. */
async function opened({ api, ask }: Context, { name, password, totp }: Credentials) {
  const attempt = (code: string | undefined) => api.admin.login({ body: { name, password, ...(code ? { totp: code } : {}) } })
  try {
    return await attempt(totp)
  } catch (error) {
    if (totp || !isProblem(error, 'TOTP_REQUIRED')) throw error
    return attempt(await ask.text('One-time or recovery code', 'give --totp'))
  }
}

type Opened = Readonly<{ token: string; setup: readonly SetupStep[] }>
type Passwords = Readonly<{ password: string; newPassword: string | undefined }>

/** Does what a new account must do before it may do anything else: a password of its own, one-time codes. */
async function setUpSession(context: Context, { token, setup }: Opened, { password, newPassword }: Passwords): Promise<void> {
  let current = password
  if (setup.includes('password')) current = await changePassword(context, token, { password, newPassword })
  if (setup.includes('totp')) await enrolTotp(context, token, current)
}

async function changePassword({ api, ask, notify }: Context, token: string, { password, newPassword }: Passwords): Promise<string> {
  if (newPassword === undefined) notify('This password works once. Choose one of your own, at least 12 characters.')
  const chosen = newPassword ?? (await newPasswordFrom(ask))
  await api.admin.changePassword({ body: { currentPassword: password, newPassword: chosen } }, bearer(token))
  return chosen
}

async function newPasswordFrom(ask: Context['ask']): Promise<string> {
  const instead = 'put it on the second line of the --password-file'
  const chosen = await ask.password('New password', instead)
  if (chosen !== (await ask.password('The same again', instead))) throw problem('USAGE', 'the two passwords differ; nothing was changed')
  return chosen
}

async function enrolTotp({ api, ask, notify }: Context, token: string, password: string): Promise<void> {
  const { uri, secret } = await api.admin.enrolTotp({ body: { password } }, bearer(token))
  notify(`\nYour role needs one-time codes. Add this to an authenticator app; it is shown only now.\n\n  ${uri}\n\n  by hand: ${secret}\n`)
  const code = await ask.text('Code that the app shows', 'enrol on a terminal: tenantry login')
  const { recoveryCodes } = await api.admin.confirmTotp({ body: { totp: code } }, bearer(token))
  const listed = recoveryCodes.map((recovery) => `  ${recovery}`).join('\n')
  notify(`\nRecovery codes, each for one login without the app. Keep them where the app is not; they are shown only now.\n\n${listed}\n`)
}

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

export const whoAmI = command(
  'whoami',
  'Who the daemon takes you for, and until when',
  {},
  ({ api }) => api.admin.whoAmI(),
  ({ account, token, expiresAt, setup, totp }, style) =>
    sections(
      fields(style, [
        ['account', style.paint.bold(clean(account.name))],
        ['role', account.role],
        ['by', token ? `API token ${clean(token.name)}` : 'login'],
        ['until', stamp(expiresAt, style.now)],
        ['one-time codes', token ? undefined : totp ? 'on' : 'off'],
      ]),
      setup.length > 0 ? style.paint.yellow(`Not set up in full (${setup.join(', ')}): tenantry login`) : '',
    ),
)
