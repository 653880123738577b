import { escapeHtml, isProblem, type Language, languageOf } from '../../core/kit/index.ts'
import { maxFormBytes } from '../../core/people/index.ts'
import { germanReasons, NewPassword } from '../../core/users/index.ts'
import { htmlPage, type RawRequest, type RawResponse } from '../http/index.ts'
import type { PeopleDeps } from './deps.ts'
import { resetByLink } from './forgot-password.ts'
import { linkOfToken } from './password-links.ts'

type Link = Readonly<{ token: string }>

const texts = {
  en: {
    title: 'Password',
    heading: 'Choose your password',
    intro: (username: string, organisation: string) => `For ${username} at ${organisation}. At least 8 characters; no well-known word.`,
    password: 'New password',
    repeated: 'New password again',
    devices: 'Log out my devices from the chat; messages only they can read are lost',
    submit: 'Set password',
    differ: 'The passwords do not match.',
    refused: (reason = '') => `The password ${reason}.`,
    done: 'Your password is set',
    next: 'Log in with it. You can close this page.',
  },
  de: {
    title: 'Passwort',
    heading: 'Passwort wählen',
    intro: (username: string, organisation: string) => `Für ${username} bei ${organisation}. Mindestens 8 Zeichen, kein bekanntes Wort.`,
    password: 'Neues Passwort',
    repeated: 'Neues Passwort noch einmal',
    devices: 'Meine Geräte vom Chat abmelden; Nachrichten, die nur sie lesen können, gehen verloren',
    submit: 'Passwort setzen',
    differ: 'Die Passwörter sind verschieden.',
    refused: (reason = '') => `Das Passwort ${germanReasons[reason] ?? reason}.`,
    done: 'Ihr Passwort ist gesetzt',
    next: 'Melden Sie sich damit an. Sie können diese Seite schließen.',
  },
} as const satisfies Readonly<Record<Language, unknown>>

/** The page behind a link. It changes nothing: mail scanners open links, and only the form sets a password. Throws LINK_INVALID. */
export async function showPasswordPage(deps: PeopleDeps, { token }: Link): Promise<string> {
  const { user, tenant } = await linkOfToken(deps, token)
  return formPage({ username: user.localpart, organisation: tenant.name, language: languageOf(user.locale) })
}

type Form = Readonly<{ username: string; organisation: string; language: Language; reason?: string }>

/** The form has no address of its own: it posts to the link, also behind a proxy with a path. */
function formPage({ username, organisation, language, reason }: Form): string {
  const words = texts[language]
  return page(
    `<h1>${words.heading}</h1>
<p>${words.intro(escapeHtml(username), escapeHtml(organisation))}</p>
${reason === undefined ? '' : `<p role="alert"><strong>${escapeHtml(reason)}</strong></p>\n`}<form method="post">
<input type="hidden" name="username" value="${escapeHtml(username)}" autocomplete="username">
<p><label>${words.password}<br><input type="password" name="password" autocomplete="new-password" required></label></p>
<p><label>${words.repeated}<br><input type="password" name="repeated" autocomplete="new-password" required></label></p>
<p><label><input type="checkbox" name="devices" value="out"> ${words.devices}</label></p>
<button>${words.submit}</button></form>`,
    language,
  )
}

const page = (body: string, language: Language): string => htmlPage(body, { title: texts[language].title, language })

/** Sets the password of the form, or shows the form again with the reason. Throws LINK_INVALID, HOMESERVER_UNREACHABLE. */
export async function sendPasswordPage(deps: PeopleDeps, { token, raw }: Link & Readonly<{ raw: RawRequest }>): Promise<RawResponse> {
  const { user, tenant } = await linkOfToken(deps, token)
  const language = languageOf(user.locale)
  const words = texts[language]
  const fields = new URLSearchParams((await raw.readBody(maxFormBytes)).toString('utf8'))
  const [password = '', repeated = ''] = [fields.get('password') ?? '', fields.get('repeated') ?? '']
  const again = (reason: string) => html(400, formPage({ username: user.localpart, organisation: tenant.name, language, reason }))
  if (password !== repeated) return again(words.differ)
  const parsed = NewPassword.safeParse(password)
  if (!parsed.success) return again(words.refused(parsed.error.issues[0]?.message))
  try {
    await resetByLink(deps, { token, newPassword: password, logOutDevices: fields.get('devices') === 'out' })
  } catch (error) {
    if (isProblem(error, 'VALIDATION') || isProblem(error, 'CONFLICT'))
      return again(error.details?.[0] ? words.refused(error.details[0].reason) : error.message)
    throw error
  }
  return html(200, page(`<h1>${words.done}</h1>\n<p>${words.next}</p>`, language))
}

const html = (status: number, body: string): RawResponse => ({
  status,
  headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  body,
})
