import { type Globals, type Machine, print } from '../../node/command-line.ts'
import { resetTotp, unlockAccount } from '../admin/index.ts'
import { withInstallation } from './installation.ts'

type Options = Globals & Readonly<{ name: string }>

/** Lifts the lock that failed logins put on an account. */
export async function adminUnlock(machine: Machine, options: Options): Promise<undefined> {
  await withInstallation(machine, options, (installation) => unlockAccount(installation, installation.actor, options))
  print(machine, options, { unlocked: options.name }, `${options.name} may log in again`)
  return undefined
}

/** For a lost phone. */
export async function adminResetTotp(machine: Machine, options: Options): Promise<undefined> {
  await withInstallation(machine, options, (installation) => resetTotp(installation, installation.actor, options))
  const words = `${options.name} logs in without a code now; where the role needs one, the next login sets it up anew`
  print(machine, options, { reset: options.name }, words)
  return undefined
}
