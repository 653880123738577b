import { lstat, realpath } from 'node:fs/promises'
import { join, posix, resolve } from 'node:path'
import { parse } from 'yaml'
import type { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { readUtf8 } from '../../node/index.ts'
import { type ComposeFacts, type Mount, mountOf, mountsOf, readCompose, recordOf } from '../boxes/index.ts'
import type { ContainerEngine, ContainerState, LocalBox, Project } from '../ports/index.ts'

type Environment = Readonly<Record<string, string>>

/** An application service registration of the chat server; `file` is undefined when unreadable from the host. */
type Registration = Readonly<{ containerPath: string; file: HostFile | undefined; plain: Record<string, unknown> }>

/** The current state of a stack. */
export type Survey = Readonly<{
  box: LocalBox
  compose: HostFile
  facts: ComposeFacts
  /** The services of the compose file, anchors resolved. */
  services: Readonly<Record<string, Record<string, unknown>>>
  /** The whole compose file as plain values. */
  whole: Record<string, unknown>
  containers: readonly ContainerState[]
  environment: Readonly<Partial<Record<Service, Environment>>>
  mounts: Readonly<Partial<Record<Service, readonly Mount[]>>>
  chat: Readonly<{
    containerPath: string
    file: HostFile | undefined
    plain: Record<string, unknown>
    registrations: readonly Registration[]
    signingKey: string
  }>
}>

export async function surveyStack(engine: ContainerEngine, box: LocalBox): Promise<Survey> {
  const compose = await readHostFile(box.project.composeFile)
  if (!compose) throw problem('NOT_FOUND', `Compose file ${box.project.composeFile} does not exist`)
  const facts = readCompose(compose.text, box.project.name)
  const whole = recordOf(parse(compose.text, { merge: true, maxAliasCount: 200 }))
  const services = Object.fromEntries(Object.entries(recordOf(whole.services)).map(([name, service]) => [name, recordOf(service)]))
  const containers = await engine.containers(box.project)
  const names = ['synapse', 'postgres', 'minio'] as const
  const environment = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await environmentOf(engine, containers, name)])),
  )
  const mounts = Object.fromEntries(names.map((name) => [name, mountsOf(services[name] ?? {})]))
  const chat = await chatConfig(engine, { box, facts, mounts: mounts.synapse ?? [], environment: environment.synapse ?? {} })
  return { box, compose, facts, services, whole, containers, environment, mounts, chat }
}

const noSuchProgram = 127

/** Environment of the running container, with compose variables and files resolved; empty when it is not running. */
async function environmentOf(engine: ContainerEngine, containers: readonly ContainerState[], service: Service): Promise<Environment> {
  const container = containers.find((one) => one.service === service && one.state === 'running')
  if (!container) return {}
  const { exitCode: ended, stdout } = await engine.exec(container.id, ['printenv'])
  if (ended === noSuchProgram) return {}
  // A container that is stopping may answer only in part.
  if (ended !== 0) throw problem('BOX_UNHEALTHY', `Cannot read the environment of ${service}: exit code ${ended}`)
  const all = Object.fromEntries(
    stdout
      .split('\n')
      .flatMap((line) => (line.includes('=') ? [[line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]] : [])),
  )
  for (const name of Object.keys(all).filter((name) => name.endsWith('_FILE'))) {
    const { exitCode, stdout: content } = await engine.exec(container.id, ['cat', all[name] as string])
    if (exitCode === 0) all[name.slice(0, -'_FILE'.length)] ??= content.trim()
  }
  return all
}

async function chatConfig(
  engine: ContainerEngine,
  {
    box: { project },
    facts: { volumes },
    mounts,
    environment,
  }: Readonly<{ box: LocalBox; facts: ComposeFacts; mounts: readonly Mount[]; environment: Environment }>,
): Promise<Survey['chat']> {
  const containerPath = environment.SYNAPSE_CONFIG_PATH || posix.join(environment.SYNAPSE_CONFIG_DIR || '/data', 'homeserver.yaml')
  const read = async (path: string) => {
    const host = await hostPathOf({ engine, project, volumes, mounts }, path)
    return host === undefined ? undefined : readHostFile(host)
  }
  const file = await read(containerPath)
  const plain = file ? asMap(file.text, 'homeserver.yaml') : {}
  const listed = Array.isArray(plain.app_service_config_files)
    ? plain.app_service_config_files.filter((path) => typeof path === 'string')
    : []
  const registrations = await Promise.all(
    listed.map(async (path) => {
      const found = await read(posix.resolve('/data', path))
      return { containerPath: path, file: found, plain: found ? asMap(found.text, path) : {} }
    }),
  )
  const keyPath =
    typeof plain.signing_key_path === 'string' ? plain.signing_key_path : posix.join('/data', `${plain.server_name}.signing.key`)
  return { containerPath, file, plain, registrations, signingKey: (await read(posix.resolve('/data', keyPath)))?.text ?? '' }
}

function asMap(text: string, name: string): Record<string, unknown> {
  try {
    return recordOf(parse(text, { merge: true, maxAliasCount: 200 }))
  } catch (error) {
    throw problem('COMPOSE_INVALID', `${name} is not YAML: ${(error as Error).message.split('\n')[0]}`)
  }
}

/** A file of the stack on the host. */
export type HostFile = Readonly<{ path: string; text: string; mode: number; uid: number; gid: number }>

const maxBytes = 1_000_000

/**
 * Reads a file of a box; undefined when missing. Throws FOLDER_UNSAFE for links, because a service of the box may own the folder and could
 * point to other files of the host, and for a file that is not UTF-8, of which a change would damage letters.
 */
export async function readHostFile(path: string): Promise<HostFile | undefined> {
  const facts = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  if (!facts) return undefined
  if (!facts.isFile() || facts.nlink > 1 || (await realpath(path)) !== path)
    throw problem('FOLDER_UNSAFE', `${path} is a link or not a regular file. fix: replace it with the file itself`)
  if (facts.size > maxBytes)
    throw problem('FOLDER_UNSAFE', `${path} has ${facts.size} bytes, too large for a config file (maximum ${maxBytes})`)
  const text = await readUtf8(path, { code: 'FOLDER_UNSAFE', keepMark: true })
  return { path, text, mode: facts.mode & 0o777, uid: facts.uid, gid: facts.gid }
}

type Where = Readonly<{ engine: ContainerEngine; project: Project; volumes: Readonly<Record<string, string>>; mounts: readonly Mount[] }>

/** Host path of a container path; undefined when no readable mount contains it. */
async function hostPathOf({ engine, project, volumes, mounts }: Where, path: string): Promise<string | undefined> {
  const mount = mountOf(mounts, path)
  if (!mount || mount.kind === 'other' || mount.source === '' || /[$~]/.test(mount.source)) return undefined
  const base = mount.kind === 'bind' ? resolve(project.folder, mount.source) : await engine.volumePath(volumes[mount.source] ?? '')
  return base === undefined ? undefined : join(base, posix.relative(mount.target, path))
}
