import { escapeHtml, isProblem } from '../../core/kit/index.ts'
import { maxFormBytes } from '../../core/people/index.ts'
import { directionOf, type TextKey, type TextLanguage, textIn, textLanguageOf } from '../../core/texts/index.ts'
import { NewPassword } from '../../core/users/index.ts'
import { htmlPage, type RawRequest, type RawResponse } from '../http/index.ts'
import type { PeopleDeps } from './deps.ts'
import { resetByLink } from './forgot-password.ts'
import { linkOfToken } from './password-links.ts'

type Link = Readonly<{ token: string }>

/** Reasons of the rules in words of their own; the others are shown in English. */
const reasons: Readonly<Record<string, TextKey>> = {
  'must be at least 8 characters': 'password.short',
  'must be at most 72 bytes': 'password.long',
  'must not be a common password: a well-known word, a row of the keyboard or a repetition': 'password.common',
  'must not be the name of the user or of the organisation': 'password.name',
}

const refusal = (language: TextLanguage, reason = ''): string => textIn(language, reasons[reason] ?? 'password.refused', { reason })

/** The page behind a link. It changes nothing: mail scanners open links, and only the form sets a password. Throws LINK_INVALID. */
export async function showPasswordPage(deps: PeopleDeps, { token }: Link): Promise<string> {
  const { user, tenant } = await linkOfToken(deps, token)
  return formPage({ username: user.localpart, organisation: tenant.name, language: textLanguageOf(user.locale) })
}

type Form = Readonly<{ username: string; organisation: string; language: TextLanguage; reason?: string }>

/** The form has no address of its own: it posts to the link, also behind a proxy with a path. */
function formPage({ username, organisation, language, reason }: Form): string {
  const say = (key: TextKey) => textIn(language, key, { username: escapeHtml(username), organisation: escapeHtml(organisation) })
  return page(
    `<h1>${say('password.heading')}</h1>
<p>${say('password.intro')}</p>
${reason === undefined ? '' : `<p role="alert"><strong>${escapeHtml(reason)}</strong></p>\n`}<form method="post">
<input type="hidden" name="username" value="${escapeHtml(username)}" autocomplete="username">
<p><label>${say('password.new')}<br><input type="password" name="password" autocomplete="new-password" required></label></p>
<p><label>${say('password.again')}<br><input type="password" name="repeated" autocomplete="new-password" required></label></p>
<p><label><input type="checkbox" name="devices" value="out"> ${say('password.devices')}</label></p>
<button>${say('password.submit')}</button></form>`,
    language,
  )
}

const page = (body: string, language: TextLanguage): string =>
  htmlPage(body, { title: textIn(language, 'password.title'), language, direction: directionOf(language) })

/** Sets the password of the form, or shows the form again with the reason. Throws LINK_INVALID, HOMESERVER_UNREACHABLE. */
export async function sendPasswordPage(deps: PeopleDeps, { token, raw }: Link & Readonly<{ raw: RawRequest }>): Promise<RawResponse> {
  const { user, tenant } = await linkOfToken(deps, token)
  const language = textLanguageOf(user.locale)
  const fields = new URLSearchParams((await raw.readBody(maxFormBytes)).toString('utf8'))
  const [password = '', repeated = ''] = [fields.get('password') ?? '', fields.get('repeated') ?? '']
  const again = (reason: string) => html(400, formPage({ username: user.localpart, organisation: tenant.name, language, reason }))
  if (password !== repeated) return again(textIn(language, 'password.differ'))
  const parsed = NewPassword.safeParse(password)
  if (!parsed.success) return again(refusal(language, parsed.error.issues[0]?.message))
  try {
    await resetByLink(deps, { token, newPassword: password, logOutDevices: fields.get('devices') === 'out' })
  } catch (error) {
    if (isProblem(error, 'VALIDATION') || isProblem(error, 'CONFLICT'))
      return again(error.details?.[0] ? refusal(language, error.details[0].reason) : error.message)
    throw error
  }
  return html(200, page(`<h1>${textIn(language, 'password.done')}</h1>\n<p>${textIn(language, 'password.next')}</p>`, language))
}

const html = (status: number, body: string): RawResponse => ({
  status,
  headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  body,
})
