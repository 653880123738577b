import { command } from '../kit/index.ts'
import { findByName } from './find-by-name.ts'

export const revokeToken = command(
  'revoke <token>',
  'End an API token on every replica within a second',
  {},
  async ({ api }, { token: given }) => {
    const { id } = findByName((await api.admin.listTokens()).tokens, given, 'tokens')
    return api.admin.revokeToken({ params: { id } })
  },
  (_, { paint }, { token }) => `${paint.green('Revoked')} ${token}.`,
)
