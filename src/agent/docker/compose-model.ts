import { posix } from 'node:path'
import { sha256Hex } from '../../core/kit/index.ts'
import type { ComposedService, ContainerMount, ContainerSettings, Project } from '../ports/index.ts'
import { composeArguments, configHashes, runDocker } from './compose.ts'
import { type DockerSettings, limitsOf } from './connect.ts'

type FileOrVolume = Readonly<{ type: string; source?: string; target: string }>
type FileReference = Readonly<{ source: string; target?: string }>
type ServiceModel = Readonly<{
  image?: string
  environment?: Readonly<Record<string, string | null>> | null
  command?: readonly string[] | null
  entrypoint?: readonly string[] | null
  volumes?: readonly FileOrVolume[]
  networks?: Readonly<Record<string, unknown>> | null
  network_mode?: string
  secrets?: readonly FileReference[]
  configs?: readonly FileReference[]
}>

/** The project as compose resolves it: variables, anchors, profiles and paths. */
export type ComposeModel = Readonly<{
  services?: Readonly<Record<string, ServiceModel>>
  volumes?: Readonly<Record<string, Readonly<{ name: string }>>>
  networks?: Readonly<Record<string, Readonly<{ name: string }>>>
  secrets?: Readonly<Record<string, Readonly<{ file?: string }>>>
  configs?: Readonly<Record<string, Readonly<{ file?: string }>>>
}>

type Reading = Readonly<{ signal?: AbortSignal | undefined; input?: string }>

/** Throws COMPOSE_INVALID. */
export const composeModel = async (settings: DockerSettings, project: Project, signal?: AbortSignal): Promise<ComposeModel> =>
  JSON.parse(await printedModel(settings, project, { signal })) as ComposeModel

/** Passed on standard input, so that a candidate is never a file that could be started. */
export const resolveCompose = async (settings: DockerSettings, project: Project, text: string): Promise<Record<string, unknown>> =>
  JSON.parse(await printedModel(settings, { ...project, composeFile: '-' }, { input: text })) as Record<string, unknown>

const printedModel = (settings: DockerSettings, project: Project, how: Reading): Promise<string> =>
  runDocker(settings, composeArguments(project, ['config', '--format', 'json']), {
    what: `Compose file of ${project.name}`,
    otherwise: 'COMPOSE_INVALID',
    timeoutMs: limitsOf(settings).composeReadMs,
    ...how,
  })

export async function composedServices(settings: DockerSettings, project: Project): Promise<Record<string, ComposedService>> {
  const [model, hashes] = await Promise.all([composeModel(settings, project), configHashes(settings, project)])
  return Object.fromEntries(
    Object.entries(model.services ?? {}).map(([service, one]) => [
      service,
      {
        hashes: hashes[service] ?? [],
        image: one.image ?? null,
        settings: settingsIn(one),
        mounts: mountsIn(model, service),
        networks: networksIn(model, service),
      },
    ]),
  )
}

/** Compose doubles each dollar sign that it prints. It leaves out variables without a value. */
function settingsIn({ environment, command, entrypoint }: ServiceModel): Partial<ContainerSettings> {
  const single = (text: string) => text.replaceAll('$$', '$')
  return {
    environment: Object.fromEntries(
      Object.entries(environment ?? {}).flatMap(([name, value]) => (value === null ? [] : [[name, sha256Hex(single(value))]])),
    ),
    ...(command ? { command: command.map(single) } : {}),
    ...(entrypoint ? { entrypoint: entrypoint.map(single) } : {}),
  }
}

/** Named volumes, host paths, and files of secrets and configs. */
export function mountsIn({ services = {}, volumes = {}, secrets = {}, configs = {} }: ComposeModel, service: string): ContainerMount[] {
  const { volumes: mounts = [], secrets: ownSecrets = [], configs: ownConfigs = [] } = services[service] ?? {}
  return [
    ...mounts.flatMap(({ type, source, target }): ContainerMount[] => {
      if (source === undefined || (type !== 'volume' && type !== 'bind')) return []
      return [{ kind: type, source: type === 'volume' ? (volumes[source]?.name ?? source) : source, target: withoutSlash(target) }]
    }),
    ...ownSecrets.flatMap((one) => fileMount(secrets[one.source]?.file, '/run/secrets', one)),
    ...ownConfigs.flatMap((one) => fileMount(configs[one.source]?.file, '/', one)),
  ]
}

const fileMount = (file: string | undefined, folder: string, { source, target = source }: FileReference): ContainerMount[] =>
  file === undefined ? [] : [{ kind: 'bind', source: file, target: posix.resolve(folder, target) }]

/** As the engine prints it. */
const withoutSlash = (path: string): string => posix.normalize(path).replace(/(?<=.)\/$/, '')

function networksIn({ services = {}, networks = {} }: ComposeModel, service: string): string[] | null {
  const { networks: own, network_mode: mode } = services[service] ?? {}
  if (mode !== undefined) return null
  return Object.keys(own ?? {}).map((key) => networks[key]?.name ?? key)
}
