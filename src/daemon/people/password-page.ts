import { escapeHtml, isProblem } from '../../core/kit/index.ts'
import { maxFormBytes } from '../../core/people/index.ts'
import { NewPassword } from '../../core/users/index.ts'
import { htmlPage, type RawRequest, type RawResponse } from '../http/index.ts'
import type { PeopleDeps } from './deps.ts'
import { resetByLink } from './forgot-password.ts'
import { linkOfToken } from './password-links.ts'

type Link = Readonly<{ token: string }>

/** The page behind a link. It changes nothing: mail scanners open links, and only the form sets a password. Throws LINK_INVALID. */
export async function showPasswordPage(deps: PeopleDeps, { token }: Link): Promise<string> {
  const { user, tenant } = await linkOfToken(deps, token)
  return formPage({ username: user.localpart, organisation: tenant.name })
}

type Form = Readonly<{ username: string; organisation: string; reason?: string }>

/** The form has no address of its own: it posts to the link, also behind a proxy with a path. */
const formPage = ({ username, organisation, reason }: Form): string =>
  page(`<h1>Choose your password</h1>
<p>For ${escapeHtml(username)} at ${escapeHtml(organisation)}. At least 8 characters; no well-known word.</p>
${reason === undefined ? '' : `<p role="alert"><strong>${escapeHtml(reason)}</strong></p>\n`}<form method="post">
<input type="hidden" name="username" value="${escapeHtml(username)}" autocomplete="username">
<p><label>New password<br><input type="password" name="password" autocomplete="new-password" required></label></p>
<p><label>New password again<br><input type="password" name="repeated" autocomplete="new-password" required></label></p>
<p><label><input type="checkbox" name="devices" value="out"> Log out my devices from the chat; messages only they can read are lost</label></p>
<button>Set password</button></form>`)

const page = (body: string): string => htmlPage(body, 'Password')

/** Sets the password of the form, or shows the form again with the reason. Throws LINK_INVALID, HOMESERVER_UNREACHABLE. */
export async function sendPasswordPage(deps: PeopleDeps, { token, raw }: Link & Readonly<{ raw: RawRequest }>): Promise<RawResponse> {
  const { user, tenant } = await linkOfToken(deps, token)
  const fields = new URLSearchParams((await raw.readBody(maxFormBytes)).toString('utf8'))
  const [password = '', repeated = ''] = [fields.get('password') ?? '', fields.get('repeated') ?? '']
  const again = (reason: string) => html(400, formPage({ username: user.localpart, organisation: tenant.name, reason }))
  if (password !== repeated) return again('The passwords do not match.')
  const parsed = NewPassword.safeParse(password)
  if (!parsed.success) return again(`The password ${parsed.error.issues[0]?.message}.`)
  try {
    await resetByLink(deps, { token, newPassword: password, logOutDevices: fields.get('devices') === 'out' })
  } catch (error) {
    if (isProblem(error, 'VALIDATION') || isProblem(error, 'CONFLICT'))
      return again(error.details?.[0] ? `The password ${error.details[0].reason}.` : error.message)
    throw error
  }
  return html(200, page('<h1>Your password is set</h1>\n<p>Log in with it. You can close this page.</p>'))
}

const html = (status: number, body: string): RawResponse => ({
  status,
  headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  body,
})
