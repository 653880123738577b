import { type Globals, type Machine, print } from '../../node/command-line.ts'

/** Creates a recovery key. Only the settings and the operator's offline copy contain it. */
export async function makeRecoveryKey(machine: Machine, options: Globals): Promise<undefined> {
  const key = Buffer.from(machine.random.bytes(32)).toString('base64')
  const words = [
    `key  ${key}`,
    '',
    'Opens every snapshot if the backup key is lost. Save it now, it is not shown again.',
    'Store a copy away from daemons, boxes and the backup key.',
    `Set TENANTRY_RECOVERY_KEY=${key} and restart the daemon. Each repository gets the key with its next snapshot.`,
  ]
  print(machine, options, { result: { key }, words: words.join('\n') })
  return undefined
}
