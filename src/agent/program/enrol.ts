import { mkdir, readFile } from 'node:fs/promises'
import { type ExitCode, isProblem, problem, type Secret, secret } from '../../core/kit/index.ts'
import { packageVersion } from '../../node/package.ts'
import { enrolAgent, openConnection, requireSafeUrl, rotateKey } from '../channel/index.ts'
import { askForRotation, keyStore, pendingKey, readIdentity, writeIdentity } from './enrolment-file.ts'
import { localHost } from './local-host.ts'
import { lockAgent } from './run.ts'
import { type Globals, type Machine, print, settingsOf } from './settings.ts'

type Options = Globals & Readonly<{ url?: string; tokenFile?: string; anew?: boolean }>

/** Makes this machine a host of the daemon. The token comes from a file or stdin, never from the command line, where others could see it. */
export async function enrol(machine: Machine, options: Options): Promise<ExitCode> {
  const { stateDir, url: configured } = settingsOf(machine, options)
  const daemonUrl = requireSafeUrl(options.url ?? configured ?? missingUrl())
  const former = await readIdentity(stateDir)
  if (former && !options.anew)
    throw problem('CONFLICT', `this agent is ${former.name} at ${former.daemonUrl} already: --anew replaces that enrolment`)
  const token = await readToken(machine, options)
  await mkdir(stateDir, { recursive: true, mode: 0o700 })
  const identity = await enrolAgent({ daemonUrl, agentVersion: packageVersion() }, await pendingKey(stateDir), token)
  await writeIdentity(stateDir, identity)
  const { hostId, name } = identity
  print(machine, options, { hostId, name, daemonUrl }, `enrolled as ${name} at ${daemonUrl}; now: tenantry-agent run`)
  return 0
}

const missingUrl = (): never => {
  throw problem('USAGE', 'which daemon? Give --url https://…')
}

/** The first line of the file or of stdin. */
async function readToken({ stdin }: Machine, { tokenFile }: Options): Promise<Secret> {
  const fromFile = tokenFile !== undefined && tokenFile !== '-'
  if (!fromFile && stdin.isTTY)
    throw problem('USAGE', 'no token: give --token-file <file>, or pipe the token of `tenantry hosts invite` into stdin')
  const text = fromFile ? await readFileOf(tokenFile) : await readAll(stdin)
  const token = text.split('\n')[0]?.trim() ?? ''
  if (!/^[A-Za-z0-9_-]{20,200}$/.test(token))
    throw problem('USAGE', `${fromFile ? tokenFile : 'stdin'} holds no enrolment token: \`tenantry hosts invite\` makes one`)
  return secret(token)
}

const readFileOf = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw problem('USAGE', `${file} cannot be read (${error.code})`)
  })

async function readAll(stdin: AsyncIterable<unknown>): Promise<string> {
  let text = ''
  for await (const part of stdin) text += String(part)
  return text
}

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
