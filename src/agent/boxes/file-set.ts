import { readdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { readIfThere } from '../../node/index.ts'
import type { ContainerState, Project } from '../ports/index.ts'

/** The default names of compose, in its order. */
export const composeNames = ['compose.yaml', 'compose.yml', 'docker-compose.yml', 'docker-compose.yaml']
/** The files that compose adds to a default file by itself; the first counts. */
const overrideNames = ['compose.override.yml', 'compose.override.yaml', 'docker-compose.override.yml', 'docker-compose.override.yaml']

/** The one file in the folder that all containers were brought up from; undefined where that is not so. */
export function fileOfContainers(
  folder: string,
  containers: readonly ContainerState[],
  key: 'composeFiles' | 'envFiles',
): string | undefined {
  // A container that a restore recreated names a file of the agent, which says nothing about the owner's.
  const byOwner = containers.filter(({ composeFiles }) => !composeFiles.some((path) => basename(path).startsWith('.compose.')))
  const sets = [...new Set(byOwner.map((container) => container[key].join('\n')))]
  const [only] = sets
  return sets.length === 1 && only && !only.includes('\n') && dirname(only) === folder ? only : undefined
}

/** The agent reads one compose file. A finding names the others that `docker compose` in this folder would read with it. */
export async function fileSetFindings(project: Project): Promise<string[]> {
  const { folder, composeFile } = project
  const variable = await composeFileVariable(project)
  const byHand = variable === undefined ? await defaultFiles(folder) : variable.map((name) => resolve(folder, name))
  const others = byHand.filter((path) => path !== composeFile).map((path) => (dirname(path) === folder ? basename(path) : path))
  if (others.length === 0 || !byHand.includes(composeFile)) return []
  const list = others.join(', ')
  const file = basename(composeFile)
  return [
    variable === undefined
      ? `docker compose adds ${list} to ${file}, but the agent reads only ${file}. fix: move its settings into ${file}, then remove ${list}`
      : `COMPOSE_FILE in ${basename(project.envFile ?? '.env')} adds ${list} to ${file}, but the agent reads only ${file}. fix: move the settings of ${list} into ${file}, then remove COMPOSE_FILE`,
  ]
}

async function defaultFiles(folder: string): Promise<string[]> {
  const present = await readdir(folder)
  const first = (names: readonly string[]) => names.find((name) => present.includes(name))
  return [first(composeNames), first(overrideNames)].flatMap((name) => (name === undefined ? [] : [join(folder, name)]))
}

/** COMPOSE_FILE as the env file sets it. */
async function composeFileVariable({ folder, envFile }: Project): Promise<string[] | undefined> {
  const text = (await readIfThere(envFile ?? join(folder, '.env'))) ?? ''
  const value = (name: string) =>
    new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=\\s*(["']?)(.*?)\\1\\s*(?:#.*)?$`, 'm').exec(text.replaceAll('\r', ''))?.[2]
  const set = value('COMPOSE_FILE')
  return set ? set.split(value('COMPOSE_PATH_SEPARATOR') || ':').filter((name) => name !== '') : undefined
}
