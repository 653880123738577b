import { command, oneOf, required } from '../kit/index.ts'
import { accountView } from './accounts.view.ts'
import { findByName } from './find-by-name.ts'

export const changeRole = command(
  'role <account>',
  'Give an account another role, also in its open sessions',
  { role: required(oneOf('--role <role>', 'what it may do from now on', ['viewer', 'reviewer', 'operator', 'admin'])) },
  async ({ api }, { account: given, role }) => {
    const { id } = findByName((await api.admin.listAccounts()).accounts, given, 'accounts')
    return api.admin.changeAccountRole({ params: { id }, body: { role } })
  },
  accountView,
)
