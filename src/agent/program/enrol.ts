import { mkdir, readFile } from 'node:fs/promises'
import { type ExitCode, isProblem, problem, type Secret, secret } from '../../core/kit/index.ts'
import { buildVersion } from '../../node/package.ts'
import { readUtf8Stream } from '../../node/utf8-file.ts'
import { type AgentPrivateKey, assertSafeUrl, enrolAgent, openConnection, rotateKey } from '../channel/index.ts'
import {
  askForRotation,
  forgetRotation,
  keyStore,
  newPendingKey,
  pendingKey,
  readIdentity,
  readSigningIdentity,
  writeIdentity,
} from './enrolment-file.ts'
import { localHost } from './local-host.ts'
import { lockAgent } from './run.ts'
import { type Globals, type Machine, print, settingsOf } from './settings.ts'

type Options = Globals & Readonly<{ url?: string; tokenFile?: string; anew?: boolean }>

/** Enrols this machine as a host. The token comes from a file or stdin, because other users can read command lines. */
export async function enrol(machine: Machine, options: Options): Promise<ExitCode> {
  const { stateDir, url: configured } = settingsOf(machine, options)
  const daemonUrl = assertSafeUrl(options.url ?? configured ?? missingUrl())
  const former = await readIdentity(stateDir)
  if (former && !options.anew)
    throw problem(
      'CONFLICT',
      `This agent is already enrolled as ${former.name} at ${former.daemonUrl}. fix: pass --anew to replace the enrolment`,
    )
  const token = await readToken(machine, options)
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  const key = await pendingKey(stateDir)
  const enrolKey = (key: AgentPrivateKey) => enrolAgent({ daemonUrl, agentVersion: buildVersion() }, key, token)
  const identity = await enrolKey(key).catch(async (error) => {
    // The daemon knows the key of an interrupted enrolment, which was revoked since. Its refusal has not used the invitation.
    if (!isProblem(error, 'CONFLICT')) throw error
    return enrolKey(await newPendingKey(stateDir))
  })
  await writeIdentity(stateDir, identity)
  await forgetRotation(stateDir)
  const { hostId, name } = identity
  print(machine, options, { result: { hostId, name, daemonUrl }, words: `Enrolled as ${name} at ${daemonUrl}. Next: tenantry-agent run` })
  return 0
}

const missingUrl = (): never => {
  throw problem('USAGE', 'No daemon URL. fix: pass --url https://…')
}

/** The first line of the file or of stdin. */
async function readToken({ stdin }: Machine, { tokenFile }: Options): Promise<Secret> {
  const fromFile = tokenFile !== undefined && tokenFile !== '-'
  if (!fromFile && stdin.isTTY)
    throw problem('USAGE', 'No token. fix: pass --token-file <file>, or pipe the token of `tenantry hosts invite` to stdin')
  const text = fromFile ? await readFileOf(tokenFile) : await readUtf8Stream(stdin)
  const token = text.split('\n')[0]?.trim() ?? ''
  if (!/^[A-Za-z0-9_-]{20,200}$/.test(token))
    throw problem(
      'USAGE',
      `${fromFile ? tokenFile : 'stdin'} does not contain an enrolment token. fix: create one with \`tenantry hosts invite\``,
    )
  return secret(token)
}

const readFileOf = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw problem('USAGE', `Cannot read ${file}: ${error.code}`)
  })

/**
 * Replaces the key of this agent. A running agent is requested to do it itself, because two programs with one key look like a stolen key.
 * Throws CONFIG before enrolment, and the daemon's errors.
 */
export async function rotateKeyNow(machine: Machine, options: Globals): Promise<ExitCode> {
  const settings = settingsOf(machine, options)
  const { stateDir } = settings
  const alone = await lockAgent(localHost(machine, settings).owner).catch((error) => {
    if (isProblem(error, 'CONFLICT')) return undefined
    throw error
  })
  if (!alone) {
    await askForRotation(stateDir)
    print(machine, options, {
      result: { asked: true },
      words: 'The running agent replaces its key within 30 s. Check its log or `tenantry hosts show`.',
    })
    return 0
  }
  try {
    const identity = await readSigningIdentity(stateDir)
    const { keyId } = await rotateKey(openConnection({ ...machine, identity }), keyStore(stateDir))
    print(machine, options, {
      result: { asked: false, keyId },
      words: `Replaced the key of ${identity.name}; the previous key is no longer valid.`,
    })
    return 0
  } finally {
    await alone.release()
  }
}
