import { access } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { Service } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { ComposedService, ContainerEngine, ContainerMount, ContainerState, LocalBox, Project, ProjectNetwork } from '../ports/index.ts'
import { readComposeFile, resolvedCompose } from './compose-file.ts'
import { isHashOfOtherCompose } from './compose-upgrade.ts'
import { assertExtraAllowed } from './extra-file.ts'
import { recordOf } from './mounts.ts'
import { networkDifferencesOf } from './network-differences.ts'

/**
 * One way in which services, or a network of them, are not what compose would bring up; `text` is a sentence with its fix. `isHashAlone`: an upgrade of compose
 * explains it, and everything else is equal. Compose would recreate the service, but a refusal would block the box until someone does.
 */
type Difference = Readonly<{ services: readonly Service[]; network?: string; text: string; isHashAlone: boolean; isMount: boolean }>

export type Composed = Readonly<Record<string, ComposedService>>

/**
 * Compares the containers with what compose would bring up from the project's file. What runs is the truth: while anything differs, every
 * recreation would change more than intended, up to the volume that holds the data.
 */
async function runningDifferences(engine: ContainerEngine, project: Project, composeFile = project.composeFile): Promise<Difference[]> {
  const text = await readComposeFile(composeFile)
  const composed = await engine.composedServices({ ...project, composeFile })
  const [model, containers, networks, { compose }] = await Promise.all([
    engine.resolveCompose(project, text),
    engine.containers(project),
    engine.networks(project),
    engine.info(),
  ])
  const found = differencesOf(project, { composed, model, containers, networks, compose, ...(await readCauses(project, containers)) })
  return found.filter(({ isHashAlone }) => !isHashAlone)
}

/** The services that another file would change. */
export const servicesChangedBy = async (engine: ContainerEngine, project: Project, composeFile: string): Promise<Service[]> =>
  (await runningDifferences(engine, project, composeFile)).flatMap(({ services }) => services)

/** Throws PREFLIGHT_REFUSED. `doing` is a verb such as updating. */
export async function assertRunsAsWritten(engine: ContainerEngine, box: LocalBox, doing: string): Promise<void> {
  const { slug, project } = box
  await assertExtraAllowed(box)
  assertNoDifferences(slug, doing, await runningDifferences(engine, project))
}

/**
 * For a change that must be possible whatever else differs: a return to the file would start the box on other volumes than those that hold its
 * data. Throws PREFLIGHT_REFUSED.
 */
export async function assertMountsAsWritten(engine: ContainerEngine, box: LocalBox, doing: string): Promise<void> {
  const { slug, project } = box
  await assertExtraAllowed(box)
  const differences = await runningDifferences(engine, project)
  assertNoDifferences(
    slug,
    doing,
    differences.filter(({ isMount }) => isMount),
  )
}

function assertNoDifferences(slug: string, doing: string, differences: readonly Difference[]): void {
  if (differences.length === 0) return
  const named = differences.slice(0, maxNamed).map(({ text }) => text)
  const more = differences.length - named.length
  throw problem(
    'PREFLIGHT_REFUSED',
    `the containers of ${slug} are not what compose would bring up, so ${doing} it would change more than its images: ${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}`,
  )
}

const maxNamed = 3

/** Explanations of a difference. */
type Causes = Readonly<{
  /** Profiles of each service in the file. */
  profiles: Readonly<Record<string, readonly string[]>>
  /** Other files that containers were started from and that still exist. */
  otherFiles: readonly string[]
}>

/** `compose`: the installed version; without it every other hash is a difference. `model`: the file, where networks are compared too. */
type Seen = Readonly<{
  composed: Composed
  containers: readonly ContainerState[]
  compose?: string
  model?: Readonly<Record<string, unknown>>
  networks?: readonly ProjectNetwork[]
}> &
  Partial<Causes>

export function differencesOf(
  project: Project,
  { composed, containers, compose = '', model = {}, networks = [], profiles = {}, otherFiles = [] }: Seen,
): Difference[] {
  const ofServices = containers
    .toSorted((one, other) => Service.options.indexOf(one.service) - Service.options.indexOf(other.service))
    .flatMap((container) => {
      const { service } = container
      const now = { composed: composed[service], compose, profiles: profiles[service] ?? [], otherFiles }
      return differencesIn(project, container, now).map((found) => ({ services: [service], isHashAlone: false, isMount: false, ...found }))
    })
  const file = basename(project.composeFile)
  const ofNetworks = networkDifferencesOf(networks, model, { file, installed: compose }).map(({ network, text, isOtherCompose }) => ({
    network,
    services: containers.filter((container) => container.networks.includes(network)).map(({ service }) => service),
    text: `${text}. fix: write what runs into ${file}, or create the network again with docker compose down and up -d`,
    isHashAlone: isOtherCompose,
    isMount: false,
  }))
  return [...ofServices, ...ofNetworks]
}

export async function readCauses(project: Project, containers: readonly ContainerState[]): Promise<Causes> {
  const named = containers.flatMap(({ composeFiles, envFiles }) => [...composeFiles, ...envFiles])
  // Files of the agent itself, from a restore, are no cause.
  const others = [...new Set(named)].filter(
    (path) =>
      ![project.composeFile, project.envFile, project.extraFile, '/dev/null'].includes(path) && !basename(path).startsWith('.compose.'),
  )
  const isThere = await Promise.all(others.map((path) => access(path).then(...yesOrNo)))
  return { profiles: await profilesIn(project), otherFiles: others.filter((_, index) => isThere[index]) }
}

const yesOrNo = [() => true, () => false] as const

/** The profiles that services have; empty where the file cannot be read. */
async function profilesIn({ composeFile }: Project): Promise<Record<string, readonly string[]>> {
  try {
    const services = recordOf(resolvedCompose(await readComposeFile(composeFile)).services)
    return Object.fromEntries(
      Object.entries(services).map(([name, service]) => {
        const { profiles } = recordOf(service)
        return [name, Array.isArray(profiles) ? profiles.map(String) : []]
      }),
    )
  } catch {
    return {}
  }
}

type Now = Readonly<{ composed: ComposedService | undefined; compose: string; profiles: readonly string[]; otherFiles: readonly string[] }>
type Found = Readonly<{ text: string; isHashAlone?: boolean; isMount?: boolean }>

function differencesIn(project: Project, container: ContainerState, { composed, compose, profiles, otherFiles }: Now): Found[] {
  const { service } = container
  const file = basename(project.composeFile)
  if (!composed && profiles.length > 0) {
    const text = `${service} belongs to the profile ${profiles.join(', ')}, which is not active. fix: remove the profiles of ${service} from ${file}`
    return [{ text }]
  }
  if (!composed) return [{ text: `${service} runs, but ${file} does not define it. fix: define it in ${file}` }]
  const fix = fixOf(project, container, otherFiles)
  const found = [
    ...mountDifferences(file, container, composed).map((text) => ({ text, isMount: true })),
    ...networkDifferences(file, container, composed).map((text) => ({ text })),
  ]
  if (found.length > 0) return found.map((one) => ({ ...one, text: `${one.text}${fix ?? `. fix: write what runs into ${file}`}` }))
  if (composed.hashes.includes(container.configHash ?? '')) return []
  const text = `${service} runs with other settings than ${file} has${fix ?? notBroughtUp(project)}`
  return [{ text, isHashAlone: isHashOfOtherCompose(container, composed, { project, installed: compose }) }]
}

function notBroughtUp({ name, composeFile, envFile, extraFile }: Project): string {
  const files = [composeFile, ...(extraFile === undefined ? [] : [extraFile])].map((path) => `--file ${path}`).join(' ')
  const variables = envFile === undefined || basename(envFile) === '.env' ? '' : ` --env-file ${envFile}`
  return ` (edited but not brought up, or started with other variables or by another compose version). fix: revert the change, or apply it with docker compose --project-name ${name} ${files}${variables} up -d`
}

/** Names the other files that the container was started from. */
function fixOf(project: Project, { composeFiles, envFiles }: ContainerState, otherFiles: readonly string[]): string | undefined {
  const shown = (path: string) => (dirname(path) === project.folder ? basename(path) : path)
  const file = shown(project.composeFile)
  const others = composeFiles.filter((path) => otherFiles.includes(path)).map(shown)
  if (others.length > 0) {
    const list = others.join(', ')
    return `: it was started from ${composeFiles.map(shown).join(' and ')}, but the agent reads only ${file}. fix: move the settings of ${list} into ${file}, then remove ${list}`
  }
  const variables = envFiles.filter((path) => otherFiles.includes(path)).map(shown)
  if (variables.length === 0) return undefined
  return `: it was started with the variables of ${variables.join(', ')}. fix: move them into .env beside ${file}, then adopt the stack again`
}

function mountDifferences(file: string, { service, mounts }: ContainerState, composed: ComposedService): string[] {
  const at = (list: readonly ContainerMount[], target: string) => list.find((mount) => mount.target === target)
  const targets = [...new Set([...mounts, ...composed.mounts].map(({ target }) => target))].sort()
  return targets.flatMap((target) => {
    const [runs, written] = [at(mounts, target), at(composed.mounts, target)]
    if (runs?.kind === written?.kind && runs?.source === written?.source) return []
    return [`${service} mounts ${shownMount(runs)} at ${target}, but ${file} mounts ${shownMount(written)} there`]
  })
}

const shownMount = (mount: ContainerMount | undefined): string =>
  mount === undefined ? 'nothing' : `${mount.kind === 'volume' ? 'volume' : 'folder'} ${mount.source}`

function networkDifferences(file: string, { service, networks }: ContainerState, composed: ComposedService): string[] {
  const { networks: written } = composed
  if (written === null) return []
  const more = networks.filter((name) => !written.includes(name))
  const fewer = written.filter((name) => !networks.includes(name))
  if (more.length === 0 && fewer.length === 0) return []
  const list = (names: readonly string[]) => names.join(', ') || 'none'
  return [`${service} is in the networks ${list(networks)}, but ${file} puts it in ${list(written)}`]
}
