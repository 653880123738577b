import { sha256Hex } from '../../core/kit/index.ts'
import { type Globals, type Machine, print } from '../../node/command-line.ts'

/** Creates an approval token. Only its hash is stored, in the settings. */
export async function approvalToken(machine: Machine, options: Globals): Promise<undefined> {
  const token = Buffer.from(machine.random.bytes(32)).toString('base64url')
  const sha256 = sha256Hex(token)
  const words = [
    `token   ${token}`,
    `sha256  ${sha256}`,
    '',
    'Give the token to the approvers of emergency rollouts. Save it now, it is not shown again.',
    `Set TENANTRY_APPROVAL_TOKEN_SHA256=${sha256} and restart the daemon.`,
  ]
  print(machine, options, { result: { token, sha256 }, words: words.join('\n') })
  return undefined
}
