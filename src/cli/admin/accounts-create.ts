import { clean, command, oneOf, required, sections, stamp } from '../kit/index.ts'
import { accountView } from './accounts.view.ts'

export const createAccount = command(
  'create <name>',
  'A new account; its password works once and is shown once',
  { role: required(oneOf('--role <role>', 'what it may do', ['viewer', 'reviewer', 'operator', 'admin'])) },
  ({ api }, { name, role }) => api.admin.createAccount({ body: { name, role } }),
  ({ account, initialPassword, expiresAt }, style) =>
    sections(
      accountView(account, style),
      `Password for the first login, until ${stamp(expiresAt, style.now)}: ${style.paint.bold(clean(initialPassword))}`,
      'It is shown only now. The person logs in with: tenantry login',
    ),
)
