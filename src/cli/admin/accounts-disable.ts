import { assertConfirmed, command } from '../kit/index.ts'
import { accountView } from './accounts.view.ts'
import { findByName } from './find-by-name.ts'

export const disableAccount = command(
  'disable <account>',
  'Shut an account out: its sessions and API tokens end within a second',
  {},
  async ({ api, ask }, { account: given }) => {
    const { id, name } = findByName((await api.admin.listAccounts()).accounts, given, 'accounts')
    await assertConfirmed(ask, `Shut out ${name}? Its API tokens end too.`)
    return api.admin.disableAccount({ params: { id } })
  },
  accountView,
)
