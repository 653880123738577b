import { AccountName, AdminRoleName } from '../../core/admin/index.ts'
import { parsePart } from '../../core/contract/index.ts'
import { type Globals, type Machine, print } from '../../node/command-line.ts'
import { createAccountWithPassword } from '../admin/index.ts'
import { withInstallation } from './installation.ts'
import { readNewPassword } from './password.ts'

type Options = Globals & Readonly<{ name: string; role: string; passwordFile?: string }>

/** Creates an account, also the first admin in an empty database. */
export async function adminCreate(machine: Machine, options: Options): Promise<undefined> {
  const role = parsePart(AdminRoleName, options.role, 'role')
  const name = parsePart(AccountName, options.name, 'name')
  await withInstallation(machine, options, async (installation) => {
    const password = await readNewPassword(machine, options.passwordFile)
    const account = await createAccountWithPassword(installation, installation.actor, { name, role, password })
    const codes = installation.config.totpRequired && (role === 'admin' || role === 'operator')
    const login = `tenantry login --url ${installation.config.baseUrl} --name ${account.name}`
    const next = codes ? `${login}, which will ask to set up one-time codes` : login
    print(machine, options, { result: account, words: `created ${account.name} with the role ${account.role}\nnext:  ${next}` })
  })
  return undefined
}
