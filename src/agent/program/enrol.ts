import { mkdir, readFile } from 'node:fs/promises'
import { type ExitCode, problem, type Secret, secret } from '../../core/kit/index.ts'
import { packageVersion } from '../../node/package.ts'
import { enrolAgent, requireSafeUrl } from '../channel/index.ts'
import { pendingKey, readIdentity, writeIdentity } from './enrolment-file.ts'
import { type Globals, type Machine, print, settingsOf } from './machine.ts'

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
