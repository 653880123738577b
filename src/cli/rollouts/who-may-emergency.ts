import { problem } from '../../core/kit/index.ts'
import { type Context, clean } from '../kit/index.ts'

/**
 * Refuses who may not make an emergency before the first question: at night nobody should answer ten of them to learn that at the end. The daemon
 * looks again in any case; a script that is asked nothing hears it from there.
 */
export async function mayMakeEmergency({ api, ask, yes }: Context): Promise<void> {
  if (!ask.interactive || yes) return
  const { account, token } = await api.admin.whoAmI()
  if (token)
    throw problem(
      'FORBIDDEN',
      'an emergency is made by a person and you come with an API token: unset TENANTRY_TOKEN, then `tenantry login`',
    )
  if (account.role !== 'admin')
    throw problem(
      'FORBIDDEN',
      `an emergency is made by an admin, and ${clean(account.name)} is ${account.role}: an admin logs in with \`tenantry login\` and does it`,
    )
}
