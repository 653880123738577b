import { type Globals, type Machine, print } from '../../node/command-line.ts'

/** Makes a recovery key. It is stored nowhere: the settings have it, and a safe place has the copy that it is for. */
export async function makeRecoveryKey(machine: Machine, options: Globals): Promise<undefined> {
  const key = Buffer.from(machine.random.bytes(32)).toString('base64')
  const words = [
    `key  ${key}`,
    '',
    'It opens every snapshot, also when the backup key is lost; it is not shown again.',
    'Keep a copy where neither a daemon nor a box is, and not beside the backup key.',
    `Set TENANTRY_RECOVERY_KEY=${key} and restart the daemon: each repository gets it with its next snapshot.`,
  ]
  print(machine, options, { key }, words.join('\n'))
  return undefined
}
