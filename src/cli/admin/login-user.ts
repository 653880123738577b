import { problem } from '../../core/kit/index.ts'
import { type Context, readSecretLines } from '../kit/index.ts'

type Credentials = Readonly<{ tenant: string; name: string | undefined; passwordFile: string | undefined }>
export type UserLogin = Readonly<{ user: string; tenant: string; expiresAt: string }>

/** Logs in as a user of a tenant, beside the login of the operator. The command line does not chat, so no chat device is made. */
export async function loginAsUser(context: Context, { tenant: input, name, passwordFile }: Credentials): Promise<UserLogin> {
  const { api, ask, clock, logins, url } = context
  const tenant = tenantOf(input)
  const username = name ?? (await ask.text('User', 'pass --name'))
  const [password] = passwordFile
    ? await readSecretLines(context, passwordFile, 'password')
    : [await ask.password('Password', 'pass --password-file')]
  const session = await api.sessions.userLogin({ body: { tenant, username, password, deviceName: 'tenantry', chat: false } })
  const expiresAt = new Date(clock.now().getTime() + session.expiresIn * 1000).toISOString()
  const before = await logins.userAt(url)
  const isSame = before?.name === session.matrixUserId && before.developerId !== undefined
  await logins.saveUser(url, {
    ...{ token: session.token, name: session.matrixUserId, tenant, expiresAt },
    ...(isSame ? { developerId: before.developerId } : {}),
  })
  return { user: session.matrixUserId, tenant, expiresAt }
}

/** A slug, a chat domain, or the URL of the chat server. Throws USAGE. */
function tenantOf(input: string): string {
  const tenant = URL.canParse(input) && input.includes('://') ? new URL(input).hostname : input
  if (tenant === '') throw problem('USAGE', `${input || '""'} names no tenant. fix: pass its slug, such as --tenant linden`)
  return tenant
}
