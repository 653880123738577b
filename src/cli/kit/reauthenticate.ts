import { isProblem } from '../../core/kit/index.ts'
import type { Api } from './connection.ts'
import type { Ask } from './input.ts'

type Deps = Readonly<{ api: Pick<Api, 'admin'>; ask: Ask; notify: (line: string) => void }>

/** Asks for the password again, and for a code where the account has one. False if stdin is not a terminal. Throws WRONG_PASSWORD, LOGIN_FAILED. */
export async function reauthenticate({ api, ask, notify }: Deps): Promise<boolean> {
  if (!ask.interactive) return false
  if ((await api.admin.whoAmI()).login === 'provider') {
    notify('Your account logs in at the provider: run `tenantry login --browser`, then repeat the command.')
    return false
  }
  notify('This needs your password again.')
  const password = await ask.password('Password', 'run tenantry login')
  const prove = (totp?: string) => api.admin.reauthenticate({ body: { password, ...(totp === undefined ? {} : { totp }) } })
  try {
    await prove()
  } catch (error) {
    if (!isProblem(error, 'TOTP_REQUIRED')) throw error
    await prove(await ask.text('One-time or recovery code', 'run tenantry login'))
  }
  return true
}
