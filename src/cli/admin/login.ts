import { isProblem, problem } from '../../core/kit/index.ts'
import { type Context, clean, command, readTextFile, stamp, text } from '../kit/index.ts'
import { setUpSession } from './set-up-session.ts'

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
export const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

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
