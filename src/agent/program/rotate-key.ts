import { type ExitCode, isProblem, problem } from '../../core/kit/index.ts'
import { openConnection, rotateKey } from '../channel/index.ts'
import { askForRotation, keyStore, readIdentity } from './enrolment-file.ts'
import { localHost } from './local-host.ts'
import { type Globals, type Machine, print, settingsOf } from './machine.ts'
import { lockAgent } from './run.ts'

/**
 * Replaces the key of this agent. While one runs it is asked to do so itself, for two programs under one key look like a thief.
 * Throws CONFIG before the enrolment, and what the daemon says.
 */
export async function rotateKeyNow(machine: Machine, options: Globals): Promise<ExitCode> {
  const settings = settingsOf(machine, options)
  const { stateDir } = settings
  const identity = await readIdentity(stateDir)
  if (!identity) throw problem('CONFIG', 'this agent is not enrolled, so it has no key to replace: `tenantry-agent enrol` first')
  const alone = await lockAgent(localHost(machine, settings).owner).catch((error) => {
    if (isProblem(error, 'CONFLICT')) return undefined
    throw error
  })
  if (!alone) {
    await askForRotation(stateDir)
    print(
      machine,
      options,
      { asked: true },
      'the running agent replaces its key within half a minute; its log and `tenantry hosts show` tell',
    )
    return 0
  }
  try {
    const { keyId } = await rotateKey(openConnection({ ...machine, identity }), keyStore(stateDir))
    print(machine, options, { asked: false, keyId }, `the key of ${identity.name} was replaced; the former one is worth nothing now`)
    return 0
  } finally {
    await alone.release()
  }
}
