import { basename } from 'node:path'
import type { ComposedService, ContainerSettings, ContainerState, Project } from '../ports/index.ts'
import { releaseIn } from './network-differences.ts'

/** The project, and the version of Compose on this host. */
type Installed = Readonly<{ project: Project; installed: string }>

/**
 * Compose versions hash the same settings differently. A hash of another version than the installed one proves no change, so everything else
 * that can be compared must be equal: image, variables, command and files here, mounts and networks by the caller.
 */
export function isHashOfOtherCompose(container: ContainerState, composed: ComposedService, { project, installed }: Installed): boolean {
  const [created, now] = [releaseIn(container.composeVersion), releaseIn(installed)]
  return (
    created !== undefined &&
    now !== undefined &&
    created !== now &&
    composed.image === container.image &&
    hasSameFiles(project, container) &&
    hasSameSettings(container, composed.settings)
  )
}

/** Files of the agent itself, from a restore, are no other files. */
const hasSameFiles = ({ composeFile, envFile, extraFile }: Project, { composeFiles, envFiles }: ContainerState): boolean =>
  composeFiles.every((path) => path === composeFile || path === extraFile || basename(path).startsWith('.compose.')) &&
  envFiles.every((path) => path === envFile || path === '/dev/null')

function hasSameSettings({ settings, imageSettings }: ContainerState, composed: Partial<ContainerSettings>): boolean {
  const { entrypoint = imageSettings.entrypoint, command = composed.entrypoint ? [] : imageSettings.command } = composed
  return (
    hasSameEnvironment(settings.environment, { ...imageSettings.environment, ...composed.environment }) &&
    isSameList(settings.command, command) &&
    isSameList(settings.entrypoint, entrypoint)
  )
}

type Environment = ContainerSettings['environment']

function hasSameEnvironment(runs: Environment, composed: Environment): boolean {
  const names = new Set([...Object.keys(runs), ...Object.keys(composed)])
  return [...names].every((name) => runs[name] === composed[name] || (composed[name] === undefined && isProxy.test(name)))
}

/** Compose adds these from the configuration of the docker client. */
const isProxy = /^(all|ftp|http|https|no)_proxy$/i

const isSameList = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((part, index) => part === other[index])
