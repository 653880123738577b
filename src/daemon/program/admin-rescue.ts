import { type Globals, type Machine, print } from '../../node/command-line.ts'
import { resetTotp, unlockAccount } from '../admin/index.ts'
import { withInstallation } from './installation.ts'

type Options = Globals & Readonly<{ name: string }>

/** Unlocks an account after failed logins. */
export async function adminUnlock(machine: Machine, options: Options): Promise<undefined> {
  await withInstallation(machine, options, (installation) => unlockAccount(installation, installation.actor, options))
  print(machine, options, { result: { unlocked: options.name }, words: `${options.name} can log in again` })
  return undefined
}

/** Removes the one-time codes and passkeys of an account, for example after the loss of a phone. */
export async function adminResetTotp(machine: Machine, options: Options): Promise<undefined> {
  await withInstallation(machine, options, (installation) => resetTotp(installation, installation.actor, options))
  const words = `removed the one-time codes and passkeys of ${options.name}; if the role requires codes, the next login sets up new ones`
  print(machine, options, { result: { reset: options.name }, words })
  return undefined
}
