import type { SetupStep } from '../../core/admin/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { Context } from '../kit/index.ts'
import { bearer } from './login.ts'

type Opened = Readonly<{ token: string; setup: readonly SetupStep[] }>
type Passwords = Readonly<{ password: string; newPassword: string | undefined }>

/** Does what a new account must do before it may do anything else: a password of its own, one-time codes. */
export async function setUpSession(context: Context, { token, setup }: Opened, { password, newPassword }: Passwords): Promise<void> {
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
